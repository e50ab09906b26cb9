"""A check says what holds, and is judged by results at the points that it names."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from made_up_rates import CLAIM, EXPERIMENT, finished
from skipline import InputError
from skipline.experiment import catalogue, claim_verdicts, table
from skipline.experiment.catalogue import Entry
from skipline.experiment.claim import ClaimCheck


def entry_with(directory: Path, check: str) -> Entry:
    (directory / "e.toml").write_text(EXPERIMENT + CLAIM + check)
    return catalogue.load((directory / "e.toml").as_posix())


def judged(directory: Path, value: str, more: str = "") -> tuple[str, str, bool]:
    """Return what one check gives, its basis, and whether it holds."""
    entry = entry_with(directory, f"value = '''{value}'''\n{more}\n")
    claim_verdicts.check_before(entry)
    done = finished(entry)
    whole = table.build("e", entry.experiment, done)
    rows = table.comparisons(table.simulated(entry.experiment, whole))
    (verdict,) = claim_verdicts.of_experiment(entry, done, rows)
    (check,) = verdict.checks
    assert (verdict.word == "holds") == check.holds
    return check.got, check.basis, check.holds


@pytest.mark.parametrize(
    ("value", "expected", "basis"),
    [
        ('at("rx_mpps", size=64, mode="on")', 7.4, "predicted"),
        ('at("rx_mpps", size=64, mode="off")', 8.4, "predicted"),
        ('at("rx_mpps", size=512, mode="on")', 52.2, "fitted"),
        ('at("rx_mpps", size=512)', 52.2, "fitted"),  # the other mode is skipped there
        ('at("latency_ns.p99.9", size=64, mode="on")', 2000, "predicted"),
        ('at("low:rx_mpps", size=64, mode="on")', 3, "predicted"),
        ('sum(series("rx_mpps", along="size", mode="on"))', 59.6, "fitted"),
        ('len(series("rx_mpps", along="size", mode="off"))', 1, "predicted"),
        ('sum(series("rx_mpps", along="size", mode="on", points="predicted"))', 7.4, "predicted"),
        ('sum(measured("rate", along="size", mode="on"))', 30, "predicted"),
        ('measured("rate", size=64, mode="off")', 10, "predicted"),
        ('ci95("rx_mpps", size=64, mode="on")', 0.5, "predicted"),
        ('max(axis("size"))', 512, "predicted"),
        ('fact("llc.slices")', 18, "predicted"),
        ('worst("rx_mpps")', 32.2, "fitted"),
        ('mae("rx_mpps", points="predicted")', 2.1, "predicted"),
        ('mae("rx_mpps", below=15)', 2.1, "predicted"),
        ('worst_percent("rx_mpps", mode="off")', 16, "predicted"),
        ('mae_percent("rx_mpps", size=512)', 161, "fitted"),
    ],
)
def test_a_call_reads_the_numbers_of_its_place(
    tmp_path: Path, value: str, expected: float, basis: str
) -> None:
    more = f"expected = {expected}\ntolerance = 1e-9"
    assert judged(tmp_path, value, more)[1:] == (basis, True)


@pytest.mark.parametrize(
    ("more", "holds"),
    [
        ("expected = 7.0\ntolerance = 0.5", True),
        ("expected = 7.0\ntolerance = 0.3", False),
        ("expected = 7.0\ntolerance_percent = 6", True),
        ("expected = 7.0\ntolerance_percent = 5", False),
        ("expected = 10\nfactor = 1.5", True),
        ("expected = 5\nfactor = 1.5", True),
        ("expected = 4\nfactor = 1.5", False),
        ("at_least = 7.5", False),
        ("at_most = 7.5", True),
        ("at_least = 7\nat_most = 7.2", False),
    ],
)
def test_a_number_holds_within_its_bounds(tmp_path: Path, more: str, holds: bool) -> None:
    assert judged(tmp_path, 'at("rx_mpps", size=64, mode="on")', more)[2] is holds


def test_a_truth_needs_no_bounds_and_a_stated_fit_is_a_fit(tmp_path: Path) -> None:
    value = 'at("rx_mpps", size=64, mode="on") < at("rx_mpps", size=64, mode="off")'
    assert judged(tmp_path, value) == ("true", "predicted", True)
    assert judged(tmp_path, f"not ({value})", 'basis = "fitted"') == ("false", "fitted", False)


@pytest.mark.parametrize(
    ("value", "more", "told"),
    [
        ('at("rx_mps", size=64, mode="on")', "", "'rx_mps': not in the results.*'rx_mpps'"),
        ('at("nothing", size=64, mode="on")', "", "has no value at size = 64, mode = on"),
        ('at("rx_mpps", size=65, mode="on")', "", "size = 65: not on the axis"),
        ('at("rx_mpps", size=64, mode="onn")', "", "did you mean 'on'"),
        ('at("rx_mpps", siz=64, mode="on")', "", "axis 'siz': unknown.*did you mean 'size'"),
        ('at("rx_mpps", size=64)', "", "axis 'mode': say which value: on, off"),
        ('at("rx_mpps", size=512, mode="off")', "", "no such point"),
        ('series("rx_mpps", mode="on")', "", "along"),
        ('measured("rat", size=64, mode="on")', "", "published metric 'rat': unknown.*'rate'"),
        ('fact("llc.slice")', "", "no such number"),
        ('mae("latency_ns.p99.9")', "", "no .*metric.* with a reference"),
        ('wurst("rx_mpps")', "", "did you mean 'worst'"),
        ('at("rx_mpps", size=64, mode="on")', "", "not true or false"),
        ('series("rx_mpps", along="size", mode="on")', "at_most = 3", "one number"),
        ("1 +", "", "not an expression"),
    ],
)
def test_a_wrong_check_names_experiment_claim_check_and_what_is_unknown(
    tmp_path: Path, value: str, more: str, told: str
) -> None:
    with pytest.raises(InputError, match=told) as caught:
        judged(tmp_path, value, more)
    assert "e.toml: claim 'c-1', check 'a check': " in str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"expected": 1},
        {"tolerance": 1},
        {"expected": 1, "tolerance": 1, "factor": 2},
        {"expected": 1, "tolerance": 1, "at_least": 1},
        {"expected": 0, "factor": 2},
        {"expected": 1, "tolerance": -1},
    ],
)
def test_a_check_that_cannot_be_judged_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        ClaimCheck(text="t", value="1", **fields)
