"""Does every public question lead to a command that can be run, or say that it does not yet?"""

import itertools
import re
import shlex
from typing import NamedTuple

import pytest

from command_line import REPOSITORY
from skipline import _core
from skipline.scenarios.settings import parse_settings

PAGE = (REPOSITORY / "docs/reference/questions.md").read_text()
QUESTIONS = 52
_ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<question>.+?) \| (?P<answer>.+) \|$", re.M)
_SPAN = re.compile(r"`([^`]+)`")


class Row(NamedTuple):
    """A question with its answer."""

    number: int
    question: str
    answer: str


ROWS = [Row(int(it["number"]), it["question"], it["answer"]) for it in _ROW.finditer(PAGE)]
RUNS = sorted(
    {span for row in ROWS for span in _SPAN.findall(row.answer) if span.startswith("skipline run ")}
)


def test_each_question_is_there_once() -> None:
    assert sorted(row.number for row in ROWS) == [*range(1, QUESTIONS + 1)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.number))
def test_an_answer_is_a_command_or_a_page_or_not_yet(row: Row) -> None:
    commands = [
        span for span in _SPAN.findall(row.answer) if span.split()[0].startswith(("skip", "make"))
    ]
    if row.answer == "not yet":
        return
    assert commands or row.answer.startswith("["), row
    # What is answered in part says which part is missing.
    assert not row.answer.startswith("partly") or re.search(r"[;,:]", row.answer[8:])


def test_some_questions_have_no_answer_yet() -> None:
    """The page is honest: an answer that appears is a change of this number, in a commit."""
    assert sum(row.answer == "not yet" for row in ROWS) == 6


@pytest.mark.parametrize("command", RUNS)
def test_a_scenario_that_answers_can_be_run(command: str) -> None:
    scenario, *options = shlex.split(command)[2:]
    settings = [value for flag, value in itertools.pairwise(options) if flag == "--set"]
    assert _core.check_scenario(scenario, parse_settings(settings))
