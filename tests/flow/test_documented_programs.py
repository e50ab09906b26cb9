"""Are the commands and options of skipline-host and skipline-dsa that documents name there?"""

import re
import subprocess
from pathlib import Path

import pytest

import documented_commands
import markdown_files
from command_line import REPOSITORY
from documented_commands import Repository, Subcommands

FEWEST = {"skipline-host": 25, "skipline-dsa": 25}


@pytest.fixture(scope="module")
def programs(binaries: Path) -> dict[str, Subcommands]:
    """Describe both programs by their help, all levels of it."""
    return {name: _described(binaries / name) for name in ("skipline-host", "skipline-dsa")}


def _described(program: Path, *command: str) -> Subcommands:
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True)
    found = Subcommands(set(re.findall(r"(?<![\w-])--[a-z][\w-]*", done.stdout)))
    listed = re.search(r"^Commands:\n(.*?)(?:\n\n|\Z)", done.stdout, re.M | re.S)
    for name in re.findall(r"^  ([a-z][\w-]*)", listed[1] if listed else "", re.M):
        if name != "help":
            found.below[name] = _described(program, *command, name)
    return found


def test_what_documents_name_of_the_programs_is_there(programs: dict[str, Subcommands]) -> None:
    repository = Repository(REPOSITORY, programs.get)
    problems, counts = {}, dict.fromkeys(FEWEST, 0)
    for path in markdown_files.files(REPOSITORY):
        for command in documented_commands.in_markdown(path.read_text()):
            counts[command[0]] = counts.get(command[0], 0) + 1
            if command[0] in ("skipline", *FEWEST) and (problem := repository.problem(command)):
                problems[f"{path.relative_to(REPOSITORY)}: {' '.join(command)}"] = problem
    assert problems == {}
    assert all(counts[name] >= fewest for name, fewest in FEWEST.items()), counts


def test_an_option_and_a_command_that_are_gone_are_named(programs: dict[str, Subcommands]) -> None:
    repository = Repository(REPOSITORY, programs.get)
    for command, problem in {
        "skipline-host tune ddio-ways 4 --apply": None,
        "skipline-host tune ddio-gone 4": "skipline-host tune has no command ddio-gone",
        "skipline host status --gone": "skipline-host status has no option --gone",
        "skipline-dsa run --devices 2 -- make --gone": None,
        "skipline-dsa gone": "skipline-dsa has no command gone",
    }.items():
        assert repository.problem(command.split()) == problem
