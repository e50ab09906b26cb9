"""Are axes of sweeps what they say, and are faults in them named?"""

from pathlib import Path

import pytest

from command_line import L2FWD
from skipline import InputError
from skipline.sweeps import axis, definition, design
from skipline.sweeps.axis import Axis, parse_value


def values(text: str) -> list[str | None]:
    return [one for (one,) in axis.parse(text).values]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cores=1,2,4", ["1", "2", "4"]),
        ("rx_descriptors=256..4096:log:5", ["256", "512", "1024", "2048", "4096"]),
        ("core_ghz=1.0..3.0:lin:3", ["1", "2", "3"]),
        ("core_ghz=0.5..2.0:lin:4", ["0.5", "1", "1.5", "2"]),
        ("packet_bytes=64..300:step:100", ["64", "164", "264"]),
        ("cores=1..3:lin:9", ["1", "2", "3"]),
        ("cores=2..2:log:1", ["2"]),
        ('platform="a, b",c', ['"a, b"', "c"]),
        ("x=[1, 2],{ a = 1, b = 2 }", ["[1, 2]", "{ a = 1, b = 2 }"]),
    ],
)
def test_values_are_listed_or_spread(text: str, expected: list[str]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cores", "not KEY=VALUES"),
        ("=1,2", "not KEY=VALUES"),
        ("cores=", "not KEY=VALUES"),
        ("cores=1,,2", "empty value"),
        ("cores=1,2,1", "the value 1 is stated twice"),
        ("cores=4..1:lin:4", "this range is empty: 4 is above 1"),
        ("cores=0..8:log:4", "begins above 0"),
        ("cores=1..8:cubic:4", "known: log, lin, step"),
        ("cores=1..8:lin:0", "a whole number from 1"),
        ("cores=1..8:lin:x", "a whole number from 1"),
        ("cores=1..8:step:0", "a number above 0"),
        ("cores=1..8:step:x", "a number above 0"),
        ("cores=1..1000000000:step:1", "allowed: up to 1,000,000"),
        ("cores=a..b:lin:3", "not a range of numbers"),
    ],
)
def test_a_bad_axis_is_named_with_what_is_allowed(text: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        axis.parse(text)


def test_points_are_all_combinations_in_the_order_of_the_axes() -> None:
    asked = definition.Definition(L2FWD, (axis.parse("cores=1,2"), axis.parse("ddio_ways=0,2")))
    assert list(asked.points()) == [
        (("cores", "1"), ("ddio_ways", "0")),
        (("cores", "1"), ("ddio_ways", "2")),
        (("cores", "2"), ("ddio_ways", "0")),
        (("cores", "2"), ("ddio_ways", "2")),
    ]


@pytest.mark.parametrize("sampling", ["random", "sobol"])
def test_samples_are_the_same_for_the_same_seed_and_within_their_axes(
    sampling: design.Sampling,
) -> None:
    axes = (axis.parse("rx_descriptors=64..4096:log"), axis.parse("ddio_ways=2,4,6"))
    drawn = [
        list(definition.Definition(L2FWD, axes, (), sampling, 50, seed=seed).points())
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 50
    points = [dict(point) for point in drawn[0]]
    assert all(64 <= int(point["rx_descriptors"]) <= 4096 for point in points)
    assert {point["ddio_ways"] for point in points} == {"2", "4", "6"}


def test_a_sobol_sequence_fills_each_half_of_an_axis_evenly() -> None:
    axes = (axis.parse("offered_gbps=0.0..100.0"), axis.parse("core_ghz=1.0..3.0"))
    points = definition.Definition(L2FWD, axes, (), "sobol", 64).points()
    low = [float(dict(point)["offered_gbps"]) < 50 for point in points]
    assert sum(low) == 32


def test_a_table_is_an_axis_of_several_keys(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    table.write_text("cores,rx_descriptors\n1, 512\n2,\n\n")
    assert design.from_table(str(table)) == Axis(
        ("cores", "rx_descriptors"), [("1", "512"), ("2", None)]
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cores\n", "no points"),
        ("cores,cores\n1,2\n", "key 'cores' is stated twice"),
        ("cores,\n1,2\n", "column 2 has no key"),
        ("cores,flows\n1\n", "row 2: 1 cells below 2 keys"),
    ],
)
def test_a_bad_table_is_named(tmp_path: Path, text: str, told: str) -> None:
    table = tmp_path / "points.csv"
    table.write_text(text)
    with pytest.raises(InputError, match=told):
        design.from_table(str(table))


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        (["core=1,2"], r"`core`.*did you mean `cores`"),
        (["cores=1,2", "cores=4"], "key 'cores': stated twice"),
        (["flows=1..1000000:step:1", "cores=1,2"], "2,000,000 points; allowed: up to 1,000,000"),
        (["cores=1..8"], "a range without a number of values"),
        ([], "no axis"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_before_anything_runs(axes: list[str], told: str) -> None:
    asked = definition.Definition(L2FWD, tuple(map(axis.parse, axes)))
    with pytest.raises(InputError, match=told):
        asked.check()


def test_a_file_says_the_same_as_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        'sweep = "l2fwd.toml"\nrepeats = 3\nseed = 7\nsobol = 8\n'
        '[axis]\nrx_descriptors = "256..4096:log:5"\nddio_ways = [2, 4]\n'
        '[set]\n"run.max_batches" = 10\n'
    )
    found = definition.read(str(file))
    assert found == definition.Definition(
        str(tmp_path / "l2fwd.toml"),
        (axis.parse("rx_descriptors=256..4096:log:5"), axis.parse("ddio_ways=2,4")),
        (("run.max_batches", "10"),),
        "sobol",
        8,
        repeats=3,
        seed=7,
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("axes = 1", r"key 'axes': unknown \(did you mean 'axis'\?\)"),
        ("repeats = 0", "repeats: from 1"),
        ("repeats = 'x'", "a whole number"),
        ("random = 1\nsobol = 2", "exclude each other"),
        ("[axis]\ncores = 3", "a list of values"),
    ],
)
def test_a_bad_sweep_file_is_named(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f'sweep = "l2fwd.toml"\n{text}\n')
    with pytest.raises(InputError, match=told):
        definition.read(str(file))


def test_settings_become_numbers_truths_and_texts_in_tables() -> None:
    assert [parse_value(text) for text in ("12", "1.5", "true", '"a"', "0x7ff", "nan")] == [
        12,
        1.5,
        True,
        "a",
        "0x7ff",
        "nan",
    ]
