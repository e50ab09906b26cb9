"""Do the notebooks of the documentation run from top to bottom, and say what is so?"""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import notebook_page
from command_line import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "docs").rglob("*.ipynb"))
FIRST = REPOSITORY / "docs/tutorials/first-half-hour.ipynb"


@pytest.fixture(scope="module")
def first_half_hour() -> tuple[list[notebook_page.Cell], dict[str, Any]]:
    """The first half hour, run once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir("/")  # built-in files are all that it may need
        return notebook_page.run(FIRST)


def _notebook(path: Path, *cells: str) -> Path:
    """Write a notebook with cells of code."""
    entries = [{"cell_type": "code", "source": [cell]} for cell in cells]
    path.write_text(json.dumps({"cells": entries}))
    return path


def test_the_first_half_hour_is_among_the_notebooks() -> None:
    assert FIRST in NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_kept_without_what_a_run_leaves(notebook: Path) -> None:
    document = json.loads(notebook.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    identifiers = [cell["id"] for cell in document["cells"]]
    assert len(set(identifiers)) == len(identifiers)
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None


def test_every_cell_shows_something_or_makes_names(
    first_half_hour: tuple[list[notebook_page.Cell], dict[str, Any]],
) -> None:
    code = [cell for cell in first_half_hour[0] if cell.kind == "code"]
    assert all(cell.shown or cell.printed for cell in code[1:])
    assert "did you mean 'pcie_write_hit_rate'" in code[3].printed
    assert "did you mean `rx_descriptors`" in code[3].printed


def test_what_the_prose_says_of_the_ring_is_so(
    first_half_hour: tuple[list[notebook_page.Cell], dict[str, Any]],
) -> None:
    runs, choices = first_half_hour[1]["runs"], first_half_hour[1]["choices"]
    rates = {ring: run.scalar("pcie_write_hit_rate") for ring, run in runs.items()}
    # Where a ring's buffers lie in the sets moves the small rings by less than a percentage point.
    assert all(more < fewer + 1 for fewer, more in itertools.pairwise(rates.values()))
    assert rates[1024] > 85 and 35 < rates[4096] < 45
    whole, small, ways = (choices[name] for name in ("as it is", "ring of 256", "six ways"))
    for better in (small, ways):
        assert better.scalar("pcie_write_hit_rate") > 95
        leak = "dram_write_gbytes_per_s"
        assert better.scalar(leak) < whole.scalar(leak) / 10
    tail = "latency_ns.p99"
    assert small.scalar(tail) < whole.scalar(tail) / 2 < ways.scalar(tail)


def test_what_the_prose_says_of_the_trace_is_so(
    first_half_hour: tuple[list[notebook_page.Cell], dict[str, Any]],
) -> None:
    first, second, third = first_half_hour[1]["replayed"].levels
    assert first.hits == second.hits == 0
    assert third.hits == third.misses == 1 << 16


def test_outputs_are_shown_as_a_notebook_shows_them(tmp_path: Path) -> None:
    notebook = _notebook(
        tmp_path / "n.ipynb",
        "a = '<b>'\nprint(a)\na",
        "class Bold:\n  _repr_html_ = lambda _: a",
        "Bold()",
    )
    ran, names = notebook_page.run(notebook)
    assert names["a"] == "<b>"
    assert (ran[0].printed, ran[0].shown) == ("<b>\n'<b>'\n", "")
    assert [cell.shown for cell in ran[1:]] == ["", "<b>"]
    page = notebook_page.page(notebook)
    assert "```text\n<b>\n'<b>'\n```" in page and '<div class="shown">\n<b>\n</div>' in page


def test_a_cell_that_fails_names_notebook_and_cell(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        notebook_page.run(_notebook(tmp_path / "n.ipynb", "a = 1", "b = a\nb / 0"))
    assert str(raised.traceback[-1].path).endswith("n.ipynb, cell 1")
