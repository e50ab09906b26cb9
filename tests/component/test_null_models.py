"""A claim that holds where nothing changes along an axis says nothing of that axis: it is weak."""

from pathlib import Path

import pytest

from made_up_rates import CLAIM, EXPERIMENT, finished
from skipline import InputError
from skipline.experiment import catalogue, claim_verdicts, table
from skipline.experiment.claim import ClaimVerdict, NullVerdict
from skipline.experiment.points import of_null_models, points

# Rates at sizes 64 and 512 are 7.4 and 52.2 with the mode on, at 64 one more with it off.
NO_EFFECT = [NullVerdict(name="size: no effect", fails=True)]
WEAK = [
    NullVerdict(name=name, fails=False)
    for name in ("size: no effect", "mode: no effect", "the same everywhere")
]


def nulls_of(directory: Path, check: str, more: str = "") -> list[NullVerdict]:
    """Return the null models that were tried of a claim with one check."""
    return verdict_of(directory, check, more).nulls


def verdict_of(directory: Path, check: str, more: str = "") -> ClaimVerdict:
    """Judge a claim by a check, and by what else is written of it."""
    (directory / "e.toml").write_text(f"{EXPERIMENT}{CLAIM}value = '''{check}'''\n{more}\n")
    entry = catalogue.load((directory / "e.toml").as_posix())
    claim_verdicts.check_before(entry)
    done = finished(entry)
    own = [one for one in done if not one.point.null]
    rows = table.comparisons(
        table.simulated(entry.experiment, table.build("e", entry.experiment, own))
    )
    (verdict,) = claim_verdicts.of_experiment(entry, done, rows)
    return verdict


@pytest.mark.parametrize(
    ("check", "more"),
    [
        ('rises(series("rx_mpps", along="size", mode="on"))', ""),
        ('at("rx_mpps", size=512, mode="on") / at("rx_mpps", size=64, mode="on")', "at_least = 2"),
    ],
)
def test_a_claim_about_an_axis_fails_where_it_has_no_effect(
    tmp_path: Path, check: str, more: str
) -> None:
    assert nulls_of(tmp_path, check, more) == NO_EFFECT


@pytest.mark.parametrize(
    ("check", "more"),
    [
        # A tolerance that contains "no effect", bounds that everything keeps, a level.
        (
            'at("rx_mpps", size=64, mode="off") / at("rx_mpps", size=64, mode="on")',
            "expected = 1.09\ntolerance_percent = 20",
        ),
        ('all(series("rx_mpps", along="size", mode="on") > 0)', ""),
        ('mae("rx_mpps", mode="on")', "at_most = 40"),
        ('at("rx_mpps", size=64, mode="on")', "at_least = 7"),
        ('at("latency_ns.p99.9", size=64, mode="on") == 2000', ""),
    ],
)
def test_a_claim_that_holds_in_each_null_model_is_weak(
    tmp_path: Path, check: str, more: str
) -> None:
    assert nulls_of(tmp_path, check, more) == WEAK


def test_a_level_is_refuted_by_the_null_model_that_it_names(tmp_path: Path) -> None:
    level = 'at("rx_mpps", size=64, mode="off")'
    named = '[[claim.null]]\nname = "mode on"\nas_at = { mode = "on" }'
    found = nulls_of(tmp_path, level, f"at_least = 8\n{named}")
    assert found == [NullVerdict(name="mode on", fails=True)]
    assert not nulls_of(tmp_path, level, f"at_least = 7\n{named}")[0].fails


def test_where_a_null_model_has_no_number_it_refutes_nothing(tmp_path: Path) -> None:
    # There is no point of 512 with the mode off: it says nothing of the size that nothing is there.
    found = nulls_of(tmp_path, 'at("rx_mpps", size=64, mode="off") > 1')
    assert found == WEAK


def test_a_claim_that_fails_needs_no_null_model(tmp_path: Path) -> None:
    assert nulls_of(tmp_path, 'at("rx_mpps", size=64, mode="on") > 100') == []


@pytest.mark.parametrize(
    ("as_at", "told"),
    [
        ('{ mode = "of" }', "null 'n': mode = 'of': not on the axis.*'off'"),
        ('{ mod = "off" }', "null 'n': axis 'mod': unknown.*'mode'"),
    ],
)
def test_a_null_model_that_is_not_there_is_refused(tmp_path: Path, as_at: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        nulls_of(
            tmp_path,
            'at("rx_mpps", size=64, mode="on") > 1',
            f'[[claim.null]]\nname = "n"\nas_at = {as_at}',
        )


LEVEL = 'at("rx_mpps", size=64, mode="on")'
SIMULATED = """[[claim.null]]
name = "nothing is received"
set = { "x.y" = 2 }
"""


def test_settings_of_a_null_model_are_simulated_for_it(tmp_path: Path) -> None:
    found = verdict_of(tmp_path, LEVEL, f"at_least = 5\n{SIMULATED}")
    assert found.nulls == [NullVerdict(name="nothing is received", fails=True)]
    # There a rate of 1 is received still.
    assert not nulls_of(tmp_path, LEVEL, f"at_least = 1\n{SIMULATED}")[0].fails


def test_only_some_points_of_a_null_model_may_differ(tmp_path: Path) -> None:
    elsewhere = f"at_least = 5\n{SIMULATED}at = {{ mode = 'off' }}\n"
    assert not nulls_of(tmp_path, LEVEL, elsewhere)[0].fails
    here = f"at_least = 5\n{SIMULATED}at = {{ mode = 'on' }}\n"
    assert nulls_of(tmp_path, LEVEL, here)[0].fails


def test_the_points_of_a_null_model_are_simulated_with_its_settings(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(f"{EXPERIMENT}{CLAIM}value = '{LEVEL} > 5'\n{SIMULATED}")
    entry = catalogue.load((tmp_path / "e.toml").as_posix())
    own = points(entry)
    found = of_null_models(entry, own)
    assert [point.axes for point in found] == [point.axes for point in own]
    assert {point.settings["x.y"] for point in found} == {2}
    assert len({point.stem for point in [*own, *found]}) == 2 * len(own)


def test_each_check_has_the_null_model_in_which_it_fails(tmp_path: Path) -> None:
    more = f"[[claim.check]]\ntext = 'a level'\nvalue = '{LEVEL}'\nat_least = 7\n"
    found = verdict_of(tmp_path, 'rises(series("rx_mpps", along="size", mode="on"))', more)
    assert [check.refuted_by for check in found.checks] == ["size: no effect", ""]
    assert [check.is_weak for check in found.checks] == [False, True]
    assert found.refuted_by == "size: no effect"


@pytest.mark.parametrize(
    ("null", "told"),
    [
        ('as_at = { mode = "on" }\nset = { "x.y" = 1 }', "give as_at or set"),
        ("", "give as_at or set"),
        ('as_at = { mode = "on" }\nat = { mode = "on" }', "at goes with set"),
        ('set = { "x.y" = 1 }\nat = { mode = "of" }', "not on the axis"),
        (f'set = {{ "x.y" = 1 }}\n{SIMULATED.replace("nothing is received", "n")}', "other keys"),
    ],
)
def test_a_null_model_that_is_not_clear_is_refused(tmp_path: Path, null: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        nulls_of(tmp_path, f"{LEVEL} > 1", f'[[claim.null]]\nname = "n"\n{null}')
