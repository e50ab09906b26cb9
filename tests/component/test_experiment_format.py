"""Axes of cases, left-out points, stated numbers: what an experiment's file says is what is run."""

from pathlib import Path

import pytest

from skipline import InputError
from skipline.experiment import catalogue
from skipline.experiment.catalogue import Entry
from skipline.experiment.points import Point, points
from skipline.scenarios.settings import toml_literal

EXPERIMENT = """
title = "t"
question = "q"
source = "s"
scenario = "one.toml"
{top}

[[axis]]
key = "co_runner_mask"
values = ["0x600", "0x0c0"]
label = "mask"
reference = "mask"
role = "x"

[[axis]]
key = "setup"
label = "set-up"
role = "panel"
reference = "load"
[[axis.case]]
name = "two ways"
set = {{ ddio_ways = 2, "tenant.0.ddio_ways" = 2, list = [1, "a"] }}
reference = "9.75 Gbps"
[[axis.case]]
name = "on the other socket / far"
scenario = "far/two.toml"

[fixed]
ddio_ways = 4

{reference}

[[metric]]
name = "m"
label = "m"
{metric}
"""

TABLE = """mask,load,metric,unit,mean,sd,min,median,max,runs
1536,9.75 Gbps,misses,1/s,5,0,5,5,5,3
0x0C0,9.75 Gbps,misses,1/s,7,0,7,7,7,3
0x600,on the other socket / far,misses,1/s,9,0,9,9,9,3
"""
FILE = '[reference]\nsource = "s"\nfile = "m.csv"\npartial = {}'
METRIC = 'reference = "misses"'


def entry(directory: Path, top: str = "", reference: str = "", metric: str = "") -> Entry:
    text = EXPERIMENT.format(top=top, reference=reference, metric=metric)
    (directory / "e.toml").write_text(text)
    (directory / "m.csv").write_text(TABLE)
    return catalogue.load((directory / "e.toml").as_posix())


def by_place(planned: list[Point]) -> dict[tuple[object, ...], Point]:
    return {tuple(point.axes.values()): point for point in planned}


def test_a_case_sets_its_keys_over_the_fixed_ones_in_its_own_scenario(tmp_path: Path) -> None:
    planned = by_place(points(entry(tmp_path)))
    assert len(planned) == 4
    near = planned["0x600", "two ways"]
    assert near.overrides == [
        ("ddio_ways", "2"),
        ("co_runner_mask", "0x600"),
        ("tenant.0.ddio_ways", "2"),
        ("list", '[1, "a"]'),
    ]
    assert near.scenario == (tmp_path / "one.toml").as_posix()
    far = planned["0x600", "on the other socket / far"]
    assert far.scenario == (tmp_path / "far" / "two.toml").as_posix()
    assert far.settings["ddio_ways"] == 4


def test_names_of_points_are_names_of_files_and_stay_apart(tmp_path: Path) -> None:
    planned = points(entry(tmp_path))
    assert len({point.stem for point in planned}) == 4
    assert all("/" not in point.stem and " " not in point.stem for point in planned)


def test_points_can_be_left_out_or_listed(tmp_path: Path) -> None:
    skipped = points(entry(tmp_path, 'skip = [{ setup = "two ways", co_runner_mask = "0x600" }]'))
    assert ("0x600", "two ways") not in by_place(skipped)
    assert len(skipped) == 3
    included = points(entry(tmp_path, 'include = [{ setup = "two ways" }]'))
    assert [point.axes["setup"] for point in included] == ["two ways"] * 2
    with pytest.raises(InputError, match="leave no point"):
        points(
            entry(tmp_path, 'skip = [{ setup = "two ways" }]\ninclude = [{ setup = "two ways" }]')
        )


def test_cells_are_compared_as_numbers_or_texts_and_points_may_lack_them(tmp_path: Path) -> None:
    planned = by_place(points(entry(tmp_path, "", FILE.format("true"), METRIC)))
    means = {place: [m.mean for m in point.measured.values()] for place, point in planned.items()}
    assert means == {
        ("0x600", "two ways"): [5.0],
        ("0x0c0", "two ways"): [7.0],
        ("0x600", "on the other socket / far"): [9.0],
        ("0x0c0", "on the other socket / far"): [],
    }
    with pytest.raises(InputError, match="no row with metric 'misses' at mask = 0x0c0, load = on"):
        points(entry(tmp_path, "", FILE.format("false"), METRIC))


def test_stated_numbers_are_found_by_place(tmp_path: Path) -> None:
    stated = """[reference]
source = "figure 3"
[[reference.stated]]
metric = "misses"
unit = "1/s"
at = { setup = "two ways" }
along = "co_runner_mask"
points = [["0x600", 4]]
"""
    planned = by_place(points(entry(tmp_path, "", stated, METRIC)))
    found = planned["0x600", "two ways"].measured["m"]
    assert (found.mean, found.runs) == (4.0, 0)
    assert not planned["0x0c0", "two ways"].measured
    assert not planned["0x600", "on the other socket / far"].measured
    with pytest.raises(InputError, match=r"'missed': no .*stated.* has it.*did you mean 'misses'"):
        points(entry(tmp_path, "", stated, 'reference = "missed"'))


@pytest.mark.parametrize(
    ("top", "reference", "metric", "told"),
    [
        ('skip = [{ set = "two ways" }]', "", "", "skip: 'set' is not one of"),
        ('include = [{ setup = "two" }]', "", "", "include: setup = 'two' is not one of two ways"),
        ("", "", METRIC, r"metric 'm' reference: the experiment has no \[reference\]"),
        ("", '[reference]\nsource = "s"', "", "needs a file or"),
        ("", '[reference]\nsource = "s"\nfile = "none.csv"', METRIC, "none.csv: no such file"),
    ],
)
def test_a_wrong_file_is_refused_with_its_reason(
    tmp_path: Path, top: str, reference: str, metric: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        points(entry(tmp_path, top, reference, metric))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "two ways"', 'name = "on the other socket / far"', "is stated twice"),
        ('values = ["0x600", "0x0c0"]', "", "either values or"),
        ('reference = "mask"', 'scale = "log2"', "needs numbers"),
    ],
)
def test_a_wrong_axis_is_refused_with_its_reason(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    text = EXPERIMENT.format(top="", reference="", metric="")
    assert old in text
    (tmp_path / "e.toml").write_text(text.replace(old, new))
    with pytest.raises(InputError, match=told):
        catalogue.load((tmp_path / "e.toml").as_posix())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (2.0, "2"),
        (0.5, "0.5"),
        ("2M", '"2M"'),
        ([1, "2M", True], '[1, "2M", true]'),
        ({"a.b": [0.5]}, '{ "a.b" = [0.5] }'),
    ],
)
def test_values_are_written_as_toml(value: object, text: str) -> None:
    assert toml_literal(value) == text
