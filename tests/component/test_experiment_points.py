"""Points come from the axes, and what each is offered from the measured table."""

from pathlib import Path

import pytest

from command_line import REPOSITORY
from skipline import InputError
from skipline.experiment import catalogue
from skipline.experiment.points import points

FOLDER = REPOSITORY / "experiments" / "ddio-bench"
FIT_POINTS = (
    "fit_points = [{ packet_bytes = 256 }, { packet_bytes = 512 }, "
    "{ packet_bytes = 1024 }, { packet_bytes = 1500 }]"
)
PKTSIZE_DESC = str(FOLDER / "pktsize-desc.toml")


def changed(directory: Path, old: str, new: str) -> str:
    """Copy the experiment with a text replaced; return the copy's path."""
    text = Path(PKTSIZE_DESC).read_text()
    assert old in text
    (directory / "measured.csv").write_text((FOLDER / "measured.csv").read_text())
    copy = directory / "changed.toml"
    copy.write_text(text.replace(old, new, 1))
    return str(copy)


def test_points_are_all_combinations_of_the_axes() -> None:
    planned = points(catalogue.find(PKTSIZE_DESC))
    assert len({point.label for point in planned}) == 4 * 6
    assert all(point.settings["ddio_ways"] == 2 for point in planned)


def test_each_point_is_offered_what_the_generator_sent() -> None:
    planned = points(catalogue.find(PKTSIZE_DESC))
    offered = {
        point.axes["packet_bytes"]: float(str(point.settings["offered_gbps"])) for point in planned
    }
    assert 26 < offered[256] < 27
    assert 90 < offered[512] < 92
    assert 99 < offered[1500] < 100


def test_what_the_generator_sent_is_the_median_of_the_runs() -> None:
    planned = points(catalogue.find(str(FOLDER / "pkt-rate.toml")))
    at_line_rate = next(point for point in planned if point.axes == {"offered": 99.32})
    assert at_line_rate.settings["offered_gbps"] == 99.3633


def test_a_point_carries_the_spread_of_its_measured_runs() -> None:
    wanted = {"packet_bytes": 1500, "rx_descriptors": 4096}
    point = next(p for p in points(catalogue.find(PKTSIZE_DESC)) if p.axes == wanted)
    measured = point.measured["pcie_write_hit_rate"]
    assert (measured.mean, measured.min, measured.max) == (39.287049, 35.4933, 41.8221)


def test_only_points_that_chose_a_parameter_are_fitted(tmp_path: Path) -> None:
    fit = "fit_points = [{ packet_bytes = 1500, rx_descriptors = 128 }]"
    planned = points(catalogue.find(changed(tmp_path, FIT_POINTS, fit)))
    fitted = [point.axes for point in planned if point.basis == "fitted"]
    assert fitted == [{"packet_bytes": 1500, "rx_descriptors": 128}]


def test_a_key_that_a_fit_point_leaves_out_means_all_its_values() -> None:
    planned = points(catalogue.find(PKTSIZE_DESC))
    of_512 = [point for point in planned if point.axes["packet_bytes"] == 512]
    assert len(of_512) == 6
    assert {point.basis for point in of_512} == {"fitted"}
    planned = points(catalogue.find(str(FOLDER / "ddio-tune.toml")))
    predicted = [point.axes["ddio_ways"] for point in planned if point.basis == "predicted"]
    assert predicted == [6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2048, 4096]", "2048, 4097]", "no row with metric 'generator_tx_gbps'.* = 4097"),
        ("label =", "lable =", "key 'axis.0.lable': unknown.*did you mean 'label'"),
        ('check = "hit-rates"', 'check = "rates"', "'rates' is not one of hit-rates, throughput"),
        ('role = "x"', 'role = "panel"', "exactly one .*axis.* must have role"),
        ('file = "measured.csv"', 'file = "none.csv"', "none.csv: no such file"),
        (FIT_POINTS, "fit_points = [{ cores = 1 }]", "'cores' is not one of packet_bytes"),
    ],
)
def test_a_damaged_experiment_is_refused_with_its_reason(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    path = changed(tmp_path, old, new)
    with pytest.raises(InputError, match=message):
        points(catalogue.find(path))


def test_a_damaged_measured_table_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = changed(tmp_path, "", "")
    table = tmp_path / "measured.csv"
    table.write_text(table.read_text().replace("39.287049", "thirty-nine"))
    with pytest.raises(InputError, match=r"measured\.csv: column 'mean' = 'thirty-nine'"):
        points(catalogue.find(path))
