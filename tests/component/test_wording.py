"""Does the code keep to the words of the field? Counts of what is hard to read may only fall.

The rules: CONTRIBUTING.md, "Words".
"""

import re
import subprocess
from collections import Counter

import pytest

from command_line import REPOSITORY

# A count above its budget fails, and so does a budget that is more than SLACK above its count.
BUDGETS = {
    "comments that open with a relative clause": 5,
    "functions called `of`": 8,
    "somebody, anybody, nobody": 0,
    "type names that are defined more than once": 12,
    "public items of crate scenario": 150,
}
SLACK = 10
_OPENER = re.compile(r"///? ?(?:What|Who|Whose|That of|Those of|Its own)\b")
_OF = re.compile(r"\bfn of\(")
_SOMEBODY = re.compile(r"\b(?:some|any|no)body\b", re.I)
_TYPE = re.compile(r"^ *(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|union) ([A-Z]\w*)", re.M)
_PUBLIC = re.compile(r"^ *pub (?:fn|struct|enum|const|trait|type)\b", re.M)


def _sources() -> dict[str, str]:
    listed = subprocess.run(
        ["git", "ls-files", "crates/**/*.rs"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    present = (name for name in listed if (REPOSITORY / name).is_file())
    return {name: (REPOSITORY / name).read_text() for name in present}


def count(sources: dict[str, str]) -> dict[str, int]:
    """Count, in the text of source files by path, what has a budget."""
    lines = [line for text in sources.values() for line in text.splitlines()]
    without_tests = {
        path: text
        for path, text in sources.items()
        if "/tests/" not in path and not path.endswith("tests.rs")
    }
    types = Counter(name for text in without_tests.values() for name in _TYPE.findall(text))
    scenario = (text for path, text in without_tests.items() if "scenario/src/" in path)
    return {
        "comments that open with a relative clause": sum(map(bool, map(_OPENER.search, lines))),
        "functions called `of`": sum(len(_OF.findall(text)) for text in sources.values()),
        "somebody, anybody, nobody": sum(len(_SOMEBODY.findall(line)) for line in lines),
        "type names that are defined more than once": sum(n > 1 for n in types.values()),
        "public items of crate scenario": sum(len(_PUBLIC.findall(text)) for text in scenario),
    }


COUNTS = count(_sources())


@pytest.mark.parametrize("name", BUDGETS)
def test_no_count_is_above_its_budget(name: str) -> None:
    assert COUNTS[name] <= BUDGETS[name]


@pytest.mark.parametrize("name", BUDGETS)
def test_a_budget_falls_with_its_count(name: str) -> None:
    assert BUDGETS[name] <= COUNTS[name] + SLACK, f"lower the budget to {COUNTS[name]}"


def test_each_kind_is_counted() -> None:
    counted = count(
        {
            "crates/a/src/lib.rs": "/// What is there.\npub struct Plan;\nfn of(x: u8) {}\n",
            "crates/sim/scenario/src/b.rs": (
                "// Nobody.\npub fn run() {}\npub(crate) enum Plan {}\n"
            ),
            "crates/a/tests/all/main.rs": "struct Plan;\n/// Its own plan.\n",
        }
    )
    assert list(counted.values()) == [2, 1, 1, 1, 1]
