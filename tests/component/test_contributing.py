"""Paths that CONTRIBUTING.md names exist, so that its recipes can be followed."""

import re

from command_line import REPOSITORY

ROOTS = "crates|python|tests|docs|native|software|platforms|devices|experiments"


def test_every_file_that_a_recipe_names_exists() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    named = set(re.findall(rf"`((?:{ROOTS})/[\w./-]+)`", text))
    # A word in capitals stands for a name that the reader chooses.
    named = {path for path in named if not re.search("[A-Z]{4}", path)}
    assert len(named) > 80, "paths were found"
    missing = sorted(path for path in named if not (REPOSITORY / path).exists())
    assert not missing
