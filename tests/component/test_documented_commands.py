"""Is each target, example, script and command of `skipline` that a document names there?"""

import subprocess
from pathlib import Path

import click
import pytest

import documented_commands
import markdown_files
from command_line import REPOSITORY
from documented_commands import Repository, Subcommands
from skipline.cli import app

DOCUMENTS = markdown_files.files(REPOSITORY)
# Fewer would mean that commands are no longer found.
FEWEST_IN_MARKDOWN, FEWEST_IN_SOURCES = 200, 10
# docs/evidence/performance.md times how long the refusal of a mistyped command takes.
MISTYPED = "skipline runn"


def _described(command: click.Command) -> Subcommands:
    """Describe a command of click."""
    context = click.Context(command)
    found = Subcommands({"--help"})
    for parameter in command.params:
        found.options.update((*parameter.opts, *parameter.secondary_opts))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if below := command.get_command(context, name):
                found.below[name] = _described(below)
    return found


@pytest.fixture(scope="module")
def repository() -> Repository:
    described = _described(app)
    return Repository(REPOSITORY, lambda name: described if name == "skipline" else None)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_what_a_document_names_is_there(path: Path, repository: Repository) -> None:
    named = list(documented_commands.in_markdown(path.read_text()))
    problems = {" ".join(command): repository.problem(command) for command in named}
    problems.pop(MISTYPED, None)
    assert {command: problem for command, problem in problems.items() if problem} == {}


def test_what_a_source_file_names_is_there(repository: Repository) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.rs", "*.py", "*.toml", "*.c", "*.h", "Makefile"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    # Tests of documents have commands in them that are not there.
    paths = [name for name in listed if not name.startswith("tests/component/")]
    problems, count = {}, 0
    for name in paths:
        text = (REPOSITORY / name).read_text(encoding="utf-8", errors="replace")
        for command in documented_commands.in_source(text):
            count += 1
            if problem := repository.problem(command):
                problems[f"{name}: {' '.join(command)}"] = problem
    assert problems == {}
    assert count >= FEWEST_IN_SOURCES


def test_the_commands_of_documents_are_found() -> None:
    pages = (path.read_text() for path in DOCUMENTS)
    assert sum(1 for page in pages for _ in documented_commands.in_markdown(page)) >= (
        FEWEST_IN_MARKDOWN
    )


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("make run", None),
        ("make bench-ab A=main B=.", None),
        ("make nothing", "target nothing is not in the Makefile"),
        ("cargo run --release -p scenario --example digests", None),
        ("cargo run -p scenario --example gone", "--example gone is not a target of scenario"),
        ("cargo test -p gone", "package gone is not in the workspace"),
        ("cargo test -p model --test all dram_curves", None),
        ("cargo bench -p slices --bench gone", "--bench gone is not a target of slices"),
        ("cargo +nightly fuzz run -s none descriptors", None),
        ("cargo +nightly fuzz run gone", "fuzz target gone is not in fuzz/Cargo.toml"),
        ("python benches/gone.py", "file benches/gone.py is not in the repository"),
        ("python -c pass", None),
        ("skipline experiment run FIGURE", None),
        ("skipline experiment gone", "skipline experiment has no command gone"),
        ("skipline run a.toml --gone", "skipline run has no option --gone"),
        ("skipline run a.toml --set=cores=2", None),
    ],
)
def test_what_is_gone_is_named(command: str, problem: str | None, repository: Repository) -> None:
    assert repository.problem(command.split()) == problem


def test_commands_are_found_in_spans_and_blocks() -> None:
    page = """Text with `make
    run` and `PROPTEST_CASES=3 cargo test -p
    host generated`, and `a word`.

```
$ make host    # one binary
$ skipline run a.toml \\
    --set cores=2 | head
make test
```
```toml
make = 3
```
"""
    assert [" ".join(words) for words in documented_commands.in_markdown(page)] == [
        "make host",
        "skipline run a.toml --set cores=2",
        "make test",
        "make run",
        "cargo test -p host generated",
    ]
    source = "//! Prints it: `cargo run -p scenario\n//! --example gone`.\n# `make x`\n"
    assert [" ".join(words) for words in documented_commands.in_source(source)] == [
        "cargo run -p scenario --example gone",
        "make x",
    ]
