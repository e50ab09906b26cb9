"""Examples in docstrings are what they show: doctest runs them, in a folder of its own."""

import doctest
import importlib
from pathlib import Path

import numpy
import pytest

from command_line import REPOSITORY
from small_experiment import write_small_evidence

MODULES = (
    "skipline",
    "skipline.runs.simulation",
    "skipline.traces.replay",
    "skipline.sweeps.call",
    "skipline.advice.call",
    "skipline.claims.call",
    "skipline.slices",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_come_out_as_they_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    write_small_evidence(tmp_path)
    (tmp_path / "docs").symlink_to(REPOSITORY / "docs")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    names = {"numpy": numpy} if name == "skipline.slices" else {}
    done = doctest.testmod(module, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.attempted > 0
    assert done.failed == 0
