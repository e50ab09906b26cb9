"""Do the commands of README and tutorials print what is shown, and does the code of pages run?"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import documentation_examples
from command_line import REPOSITORY

PAGES = [
    "README.md",
    "docs/tutorials/first-run.md",
    "docs/tutorials/my-own-server.md",
    "docs/tutorials/evidence-page.md",
    "docs/explanation/packet-through-the-cache.md",
    "docs/explanation/descriptor-execution.md",
]
PAGE = """Text, then `mine.toml`:

```toml
cores = 1
```

```
$ alias ask='.venv/bin/skipline run mine.toml'
$ ask --set "a=1 2"   # why
  one   1
...
  t... 2
$ make test
  nothing
```
"""


@pytest.mark.soak
@pytest.mark.parametrize("page", PAGES)
def test_commands_print_what_the_documentation_shows(page: str, tmp_path: Path) -> None:
    text = (REPOSITORY / page).read_text()
    for name, content in documentation_examples.files(text).items():
        (tmp_path / name).write_text(content)
    for folder in ("crates", "docs", "experiments", "tests"):
        (tmp_path / folder).symlink_to(REPOSITORY / folder)
    examples = list(documentation_examples.examples(text, "skipline"))
    assert examples
    for example in examples:
        done = subprocess.run(
            [sys.executable, "-m", "skipline", *example.arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        refused = any(line.startswith("error:") for line in example.shown)
        assert (done.returncode != 0) == refused, done.stderr
        assert documentation_examples.missing(example, done.stdout + done.stderr) == []


@pytest.mark.soak
@pytest.mark.parametrize(
    ("page", "loads", "simulations"),
    [("predict-tune-check", [], 4), ("observe-change-observe", ["forwarding", "leaking"], 3)],
)
def test_the_circle_from_a_server_to_its_check_closes(
    page: str, loads: list[str], simulations: int, binaries: Path, tmp_path: Path
) -> None:
    text = (REPOSITORY / f"docs/tutorials/{page}.md").read_text()
    for name, content in documentation_examples.files(text).items():
        (tmp_path / name).write_text(content)
    machine = [str(binaries / "fake-machines"), "skylake", str(tmp_path / "server"), *loads]
    subprocess.run(machine, check=True)
    programs = {
        "skipline": [sys.executable, "-m", "skipline"],
        "skipline-host": [str(binaries / "skipline-host")],
    }
    examples = list(documentation_examples.examples(text, *programs))
    assert [example.program for example in examples].count("skipline") == simulations
    for example in examples:
        done = subprocess.run(
            [*programs[example.program], *example.arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert documentation_examples.missing(example, done.stdout) == []
        if example.into:
            (tmp_path / example.into).write_text(done.stdout)


@pytest.mark.parametrize(
    "page",
    [
        "docs/how-to/python.md",
        "docs/how-to/traces.md",
        "docs/how-to/sweeps.md",
        "docs/how-to/sweep-pictures.md",
        "docs/how-to/dsa-library.md",
    ],
)
def test_the_code_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # built-in files are all that it may need
    code = documentation_examples.python((REPOSITORY / page).read_text())
    assert any(way in code for way in ("import skipline", "skipline\n", "from skipline"))
    exec(compile(code, page, "exec"), {})


def test_the_code_of_a_page_keeps_its_lines() -> None:
    page = "Text\n\n```python\na = 1\n```\n\n```\nno code\n```\n```python\nb = a / 0\n```\n"
    code = documentation_examples.python(page)
    assert code.splitlines()[3] == "a = 1" and code.splitlines()[10] == "b = a / 0"
    assert "no code" not in code


def test_calls_files_and_lines_are_read_from_a_page() -> None:
    assert documentation_examples.files(PAGE) == {"mine.toml": "cores = 1\n"}
    (example,) = documentation_examples.examples(PAGE, "skipline")
    assert example.arguments == ["run", "mine.toml", "--set", "a=1 2"]
    assert documentation_examples.missing(example, "one 1\n") == []
    assert documentation_examples.missing(example, "one 2\n") == ["one 1"]
