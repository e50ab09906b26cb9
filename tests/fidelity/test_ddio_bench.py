"""Is the simulated Gold 6140 as close to the measured one as the experiments claim?"""

import itertools
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import accuracy
import kept_results
from command_line import EXPERIMENTS
from skipline.experiment import outcome, together
from skipline.experiment.outcome import Outcome

HIT_RATES = ["pcie_write_hit_rate", "pcie_read_hit_rate"]


@pytest.fixture
def concluded(published: Callable[[str], Path]) -> Callable[[str], Outcome]:
    return lambda identifier: outcome.read(published(identifier))


@pytest.mark.parametrize("identifier", EXPERIMENTS)
def test_every_check_holds(concluded: Callable[[str], Outcome], identifier: str) -> None:
    verdicts = concluded(identifier).summary.verdicts
    assert len(verdicts) == 5
    failing = [
        (verdict.name, group.basis)
        for verdict in verdicts
        for group in verdict.groups
        if group.value > verdict.at_most
    ]
    assert failing == []


@pytest.mark.parametrize("identifier", EXPERIMENTS)
def test_errors_that_the_pages_state_are_those_of_the_model(
    concluded: Callable[[str], Outcome], identifier: str
) -> None:
    verdicts = concluded(identifier).summary.model_dump(mode="json")["verdicts"]
    simulated = kept_results.rounded(accuracy.verdicts(verdicts))
    how = "make docs-tables MEASURE=fidelity"
    assert kept_results.read("fidelity")["experiments"][identifier] == simulated, how


def test_both_experiments_together_stay_within_eight_points_and_ten_percent(
    concluded: Callable[[str], Outcome],
) -> None:
    joint = together.combine([concluded(identifier) for identifier in EXPERIMENTS])
    limits = {
        "hit-rates": 8.0,
        "throughput": 10.0,
        "median-latency": 20.0,
        "worst-median-latency": 25.0,
        "tail-latency": 20.0,
    }
    assert {verdict.name: verdict.at_most for verdict in joint.verdicts} == limits
    for verdict in joint.verdicts:
        assert verdict.holds, verdict
    bases = {v.name: [group.basis for group in v.groups] for v in joint.verdicts}
    # Each hit rate that was measured below 99 % chose something.
    assert bases.pop("hit-rates") == ["fitted"]
    assert all(basis == ["fitted", "predicted"] for basis in bases.values())
    assert joint.points == 34
    # What 256 B packets send was put in, but for the one that the model sends too slowly.
    numbers = {verdict.name: verdict.numbers for verdict in joint.verdicts}
    assert (numbers["throughput"], numbers["tail-latency"]) == (29, 34)


def test_more_ways_never_lower_the_hit_rate_beyond_the_intervals(
    concluded: Callable[[str], Outcome],
) -> None:
    table = concluded("ddio-tune").table
    for metric in HIT_RATES:
        # Ten and eleven ways have the inclusive ones, where a device meets the lines of cores.
        apart = (pl.col("metric") == metric) & (pl.col("ddio_ways") < 10)
        rows = table.filter(apart).sort("ddio_ways").to_dicts()
        for fewer, more in itertools.pairwise(rows):
            slack = (fewer["ci95"] or 0.0) + (more["ci95"] or 0.0)
            assert more["predicted"] >= fewer["predicted"] - slack, (metric, more["ddio_ways"])


def test_the_model_beats_the_constant_predictor(concluded: Callable[[str], Outcome]) -> None:
    for identifier in EXPERIMENTS:
        summary = concluded(identifier).summary
        constant = next(s for s in summary.trivial if s.text == "constant 100 %")
        hits = next(v for v in summary.verdicts if v.name == "hit-rates")
        assert hits.value < constant.value


# How many points have measured values that chose a parameter of the platform.
FITTED_POINTS = {"pktsize-desc": 4 * 6, "ddio-tune": 4}


@pytest.mark.parametrize("identifier", EXPERIMENTS)
def test_fitted_and_predicted_are_told_apart(
    concluded: Callable[[str], Outcome], identifier: str
) -> None:
    found = concluded(identifier)
    assert found.summary.fitted_parameters
    for parameter in found.summary.fitted_parameters:
        assert parameter.fitted_on
    axes = [axis.key for axis in found.summary.experiment.axis]
    fitted = found.table.filter(pl.col("basis") == "fitted").select(axes).unique()
    assert fitted.height == FITTED_POINTS[identifier]
