"""`skipline init`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skipline import _core, atomic, resources
from skipline._core import InputError
from skipline.commands import suggestions
from skipline.commands.command import Command
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.scenarios.questionnaire import Answers, Question


@click.command(
    cls=Command,
    examples=[
        "skipline init",
        "printf 'skylake-gold-6140\\n\\n4\\n1024\\n50\\n512\\n' | skipline init mine.toml",
        "skipline init mine.toml --from examples/large-ring.toml",
    ],
)
@click.argument(
    "file",
    metavar="[FILE]",
    required=False,
    default=Path("my-server.toml"),
    type=click.Path(path_type=Path),
    help="Scenario to write; default: my-server.toml.",
)
@click.option(
    "--from",
    "source",
    metavar="SCENARIO",
    help="Begin with this scenario, on disk or built in, and ask nothing.",
    shell_complete=suggestions.scenarios,
)
@click.option("--replace", is_flag=True, help="Overwrite a file of that name, and say so.")
def init(file: Path, source: str | None, replace: bool) -> None:
    """Write a scenario for a server of yours: six questions, or another scenario to begin with.

    Answers may come from a pipe, a line each; an empty line takes the default. The file is written
    once all answers fit together.
    """
    _require_free(file, replace)
    text = _asked(file) if source is None else _copied(source)
    replaced = _require_free(file, replace)
    atomic.write(file, text)
    terminal.emit_for_people(f"{'replaced' if replaced else 'wrote'} {file}")
    terminal.emit_for_people(f"next: skipline run {file}")


def _require_free(file: Path, replace: bool) -> bool:
    """Refuse a file that exists unless it may be replaced; return whether there is one."""
    if not file.parent.is_dir():
        raise InputError(f"{file}: the directory {file.parent} does not exist")
    if file.is_dir():
        raise InputError(f"{file}: this is a directory; name the file")
    exists = file.exists() or file.is_symlink()
    if exists and not replace:
        raise InputError(
            f"{file}: this file exists and was left as it is; name another file, or --replace it"
        )
    return exists


def _copied(source: str) -> str:
    """Return the text of a scenario that runs as it is."""
    if not _core.is_pipe(source):
        _core.check_scenario(source, [])
    return resources.read_keys(source)


def _asked(file: Path) -> str:
    from skipline.scenarios.questionnaire import QUESTIONS, Answers

    answers = Answers(file)
    is_asked = sys.stdin is not None and sys.stdin.isatty()
    if is_asked:
        terminal.note(f"{len(QUESTIONS)} questions; Enter takes what is in brackets.")
    for number, question in enumerate(QUESTIONS, start=1):
        if is_asked:
            _ask(question, answers)
        else:
            _read(number, question, answers)
    if not is_asked and sys.stdin is not None and (more := sys.stdin.read().strip()):
        raise InputError(
            f"standard input: there are {len(QUESTIONS)} questions; "
            f"what is '{more.splitlines()[0]}' for?"
        )
    return answers.text()


def _ask(question: "Question", answers: "Answers") -> None:
    """Ask until the answer fits those before it."""
    while True:
        terminal.note(f"{question.text} [{question.default}]")
        line = sys.stdin.readline()
        if not line:
            raise click.Abort
        try:
            answers.give(question, line)
        except InputError as error:
            terminal.note(f"  {error}")
        else:
            return


def _read(number: int, question: "Question", answers: "Answers") -> None:
    """Take the next line of a pipe, or say which answer is missing or wrong."""
    line = sys.stdin.readline() if sys.stdin is not None else ""
    if not line:
        raise InputError(f"standard input: answer {number} is missing: {question.text}")
    try:
        answers.give(question, line)
    except InputError as error:
        raise InputError(f"answer {number} ({question.key}): {error}") from None
