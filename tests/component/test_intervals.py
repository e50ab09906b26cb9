"""A verdict that other seeds would turn over is undecided."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_up_rates import CLAIM, EXPERIMENT, finished
from skipline.experiment import catalogue, claim_verdicts, table
from skipline.experiment.claim import ClaimCheckVerdict, Word, got_text
from skipline.experiment.intervals import by_chance, with_intervals

# The rate at 64 with the mode on is 6.4 and this much more: 8.4 on average, with an interval of
# 0.88 over five runs and of 0.34 over ten.
FIVE = (1.0, 2.0, 3.0, 2.0, 2.0)
TEN = (*FIVE, 2.0, 2.0, 2.0, 2.0, 2.0)
RATE = 'at("rx_mpps", size=64, mode="on")'


def check_of(directory: Path, value: str, bounds: str, mores: Sequence[float]) -> ClaimCheckVerdict:
    """Judge one check of made-up rates."""
    (directory / "e.toml").write_text(f"{EXPERIMENT}{CLAIM}value = '''{value}'''\n{bounds}\n")
    entry = catalogue.load((directory / "e.toml").as_posix())
    done = finished(entry, mores)
    rows = table.comparisons(
        table.simulated(entry.experiment, table.build("e", entry.experiment, done))
    )
    (verdict,) = claim_verdicts.of_experiment(entry, done, rows)
    (check,) = verdict.checks
    assert verdict.word == check.word
    return check


@pytest.mark.parametrize(
    ("bounds", "mores", "word"),
    [
        ("at_least = 7.5", FIVE, "holds"),
        ("at_least = 7.7", FIVE, "undecided"),
        ("at_most = 9.3", FIVE, "holds"),
        ("at_most = 9.1", FIVE, "undecided"),
        ("at_least = 9.1", FIVE, "undecided"),
        ("at_least = 9.3", FIVE, "fails"),
        ("expected = 8\ntolerance = 2", FIVE, "holds"),
        ("expected = 8\ntolerance = 1", FIVE, "undecided"),
        # More runs decide what fewer leave open.
        ("at_most = 9.1", TEN, "holds"),
        # Below five runs no interval is known.
        ("at_most = 8.5", FIVE[:4], "holds"),
    ],
)
def test_a_bound_within_the_interval_leaves_a_check_undecided(
    tmp_path: Path, bounds: str, mores: Sequence[float], word: Word
) -> None:
    assert check_of(tmp_path, RATE, bounds, mores).word == word


def test_the_interval_is_that_of_the_whole_expression(tmp_path: Path) -> None:
    # What all runs have more of cancels out.
    other = 'at("rx_mpps", size=64, mode="off")'
    check = check_of(tmp_path, f"{other} - {RATE}", "at_least = 0.999", FIVE)
    assert check.half_width == pytest.approx(0.0, abs=1e-12)
    assert check.word == "holds"
    shown = check_of(tmp_path, RATE, "at_least = 1", FIVE)
    assert shown.half_width == pytest.approx(0.878, abs=1e-3)
    assert got_text(shown) == "8.4 ± 0.878"


@pytest.mark.parametrize(
    ("limit", "mores", "word"),
    [
        (6, FIVE, "holds"),
        (8, FIVE, "undecided"),
        (9, FIVE, "undecided"),
        (10, FIVE, "fails"),
        (8, TEN, "holds"),
    ],
)
def test_a_truth_is_decided_if_more_runs_agree_than_chance_makes_agree(
    tmp_path: Path, limit: float, mores: Sequence[float], word: Word
) -> None:
    assert check_of(tmp_path, f"{RATE} > {limit}", "", mores).word == word


def test_runs_without_a_number_leave_the_verdict_as_it_is(tmp_path: Path) -> None:
    check = check_of(tmp_path, RATE, "at_least = 7.7", (2.0,))
    assert with_intervals([check], [lambda: None] * 10) == [check]


@given(st.integers(1, 40), st.data())
def test_what_chance_does_falls_with_each_run_that_agrees(runs: int, data: st.DataObject) -> None:
    agreeing = data.draw(st.integers(0, runs - 1))
    more, fewer = by_chance(agreeing + 1, runs), by_chance(agreeing, runs)
    assert 0 < more < fewer <= 1
    assert by_chance(0, runs) == 1
