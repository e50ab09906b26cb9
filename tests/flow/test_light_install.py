"""Skipline itself needs no extra: as if none were installed, in processes without them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from command_line import L2FWD, REPOSITORY, SHORT
from skipline import extras

LIBRARIES = sorted({library for libraries in extras.EXTRAS.values() for library in libraries})
# Python takes a module that is None for one that is not there. A kernel that is known, even so,
# would be taken for a notebook.
HIDDEN = [library for library in LIBRARIES if library != "ipykernel"]
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({HIDDEN!r}));"
COMMAND = f"{WITHOUT} from skipline.__main__ import main; main()"
# Names under which libraries are imported, where PyPI has another one.
IMPORTED = {"vl-convert-python": "vl_convert"}

NEED = [
    ("sweeps", ("sweep", L2FWD, "--axis", "cores=1,2")),
    ("sweeps", ("store", "list", "results.duckdb")),
    ("sweeps", ("diff", L2FWD, L2FWD, "--set-b", "ddio_ways=6")),
    ("sweeps", ("experiment", "list")),
    ("sweeps", ("schema", "experiment")),
    ("reports", ("experiment", "run", "ddio-tune")),
    ("reports", ("evidence", "--source", "blog")),
    ("reports", ("host", "compare", "node7.toml")),
    ("advise", ("advise", "examples/large-ring.toml", "--goal", "p99")),
    ("advise", ("calibrate", "experiments/calibration/gold-6140.toml")),
]
CORE = [
    ("run", L2FWD, *SHORT),
    ("run", L2FWD, *SHORT, "--explain", "--trace-packet", "1"),
    ("trace", "--standard", "4mib-random", "--explain"),
    ("demo", "--format", "csv"),
    ("init", "mine.toml", "--from", "examples/large-ring.toml"),
    ("examples",),
    ("platforms",),
    ("platforms", "show", "skylake-gold-6140"),
    ("testbeds",),
    ("budget",),
    ("metrics",),
    ("schema", "scenario"),
    ("completion", "bash"),
    *((command, "--help") for command in ("sweep", "store", "experiment", "advise", "evidence")),
    ("store", "list", "--help"),
]


def without_extras(
    directory: Path, code: str, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", CORE, ids=" ".join)
def test_the_core_does_this(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = without_extras(tmp_path, COMMAND, *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize(("extra", "arguments"), NEED, ids=" ".join)
def test_a_command_says_in_a_sentence_what_to_install(
    tmp_path: Path, extra: str, arguments: tuple[str, ...]
) -> None:
    done = without_extras(tmp_path, COMMAND, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("error: `skipline ")
    assert sentence.endswith(f"pip install 'skipline[{extra}]'")
    assert list(tmp_path.iterdir()) == []


def test_the_page_of_a_run_needs_no_extra_and_draws_by_itself(tmp_path: Path) -> None:
    without_extras(tmp_path, COMMAND, "run", L2FWD, *SHORT, "--out", "out")
    done = without_extras(tmp_path, COMMAND, "report", "out")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'id="vega"' in page and "data-chart" in page


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("skipline.sweep('x.toml', {})", "sweeps"),
        ("skipline.advise('x.toml', 'p99')", "advise"),
        ("skipline.evidence()", "sweeps"),
        ("skipline.Store('x.duckdb')", "sweeps"),
        ("skipline.trace([0], 'three-level-lru').to_frame()", "notebook"),
    ],
)
def test_python_says_the_same(tmp_path: Path, call: str, extra: str) -> None:
    code = f"{WITHOUT} import skipline\ntry: {call}\nexcept skipline.MissingExtra as e: print(e)"
    done = without_extras(tmp_path, code)
    assert done.stdout.endswith(f"pip install 'skipline[{extra}]'\n"), done.stderr


def test_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    stated = project["optional-dependencies"]

    def libraries(extra: str) -> set[str]:
        found = set[str]()
        for requirement in stated[extra]:
            name, _, more = requirement.partition("[")
            if name == "skipline":
                found |= set().union(*(libraries(one) for one in more.rstrip("]").split(",")))
            else:
                plain = name.split(">")[0].split("=")[0].strip()
                found.add(IMPORTED.get(plain, plain))
        return found

    assert {extra: libraries(extra) for extra in extras.EXTRAS} == {
        extra: set(names) for extra, names in extras.EXTRAS.items()
    }
    assert libraries("all") == set(LIBRARIES)
    assert not set(LIBRARIES) & {one.split(">")[0] for one in project["dependencies"]}


def test_importing_skipline_loads_nothing_else(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules); import skipline; print(*set(sys.modules) - before)"
    )
    assert without_extras(tmp_path, code).stdout.split() == ["skipline"]
