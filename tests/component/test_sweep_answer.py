"""Does the first sentence of a sweep's page call a difference what its intervals call noise?"""

import polars as pl

from skipline.report import sweep_answer
from skipline.report.curves import Along, Curve
from skipline.report.model_bands import Band
from skipline.store.curves import CurvePoint
from skipline.store.summary import Summary

Numbers = list[tuple[float, float]]
RINGS = (256, 512, 1024)


def sentence(**metrics: Numbers) -> str:
    """Return the answer over one axis, `rx_descriptors`: each metric's values with half widths."""
    values = {name: [value for value, _ in numbers] for name, numbers in metrics.items()}
    frame = pl.DataFrame({"rx_descriptors": RINGS, **values})
    units = dict.fromkeys(metrics, "Gbit/s")
    summary = Summary(1, ["rx_descriptors"], list(metrics), units, frame, pl.DataFrame())
    curves = [
        Curve(
            name,
            "Gbit/s",
            [
                CurvePoint({"rx_descriptors": ring}, value, half, 1, False)
                for ring, (value, half) in zip(RINGS, numbers, strict=True)
            ],
            [Band(None, None, "")] * len(RINGS),
        )
        for name, numbers in metrics.items()
    ]
    return sweep_answer.sentence(summary, curves, Along("rx_descriptors"))


def test_a_difference_within_the_intervals_is_none() -> None:
    told = sentence(
        throughput_gbps=[(80.0, 0.04), (79.98, 0.05), (79.99, 0.02)],
        dram_write_gbytes_per_s=[(4.0, 0.1), (8.0, 0.1), (10.0, 0.1)],
    )
    assert told == (
        "DRAM writes: 4 to 10 Gbit/s, lowest with receive descriptors per queue = 256. "
        "Sent, on the wire: 80.00 Gbit/s at all points, within the intervals."
    )


def test_others_that_may_be_as_good_are_counted() -> None:
    told = sentence(throughput_gbps=[(80.0, 0.3), (79.8, 0.3), (60.0, 0.3)])
    assert told == (
        "Sent, on the wire: 60 to 80 Gbit/s, highest with receive descriptors per queue = 256; no "
        "worse at 1 of the others."
    )


def test_a_sweep_that_changes_nothing_says_so() -> None:
    told = sentence(throughput_gbps=[(80.0, 0.3), (79.8, 0.3), (79.9, 0.3)])
    assert told == "Sent, on the wire: 80.00 Gbit/s at all points, within the intervals."


def test_what_is_nothing_everywhere_is_said_once_and_in_words() -> None:
    nothing = [(0.0, 0.0)] * 3
    told = sentence(
        throughput_gbps=[(80.0, 0.3), (60.0, 0.3), (50.0, 0.3)],
        rx_dropped=nothing,
        rx_loss_rate=nothing,
    )
    assert told.endswith("= 256. Nothing is lost at any point.")
    assert "lost" not in sentence(rx_dropped=[(0.0, 0.0), (0.0, 0.0), (1.0, 0.5)])


def test_what_a_load_of_each_curve_does_is_not_what_the_setting_does() -> None:
    rows = [(ring, load) for load in (25.0, 100.0) for ring in RINGS]
    numbers = {"throughput_gbps": [load for _, load in rows]}
    numbers["pcie_write_hit_rate"] = [90.0, 60.0, 30.0, 80.0, 50.0, 20.0]
    axes = {"rx_descriptors": [ring for ring, _ in rows], "offered_gbps": [x for _, x in rows]}
    frame = pl.DataFrame({**axes, **numbers})
    units = {"throughput_gbps": "Gbit/s", "pcie_write_hit_rate": "percent"}
    found = Summary(1, list(axes), list(numbers), units, frame, pl.DataFrame())
    curves = [
        Curve(
            name,
            units[name],
            [
                CurvePoint({"rx_descriptors": ring, "offered_gbps": load}, value, 0.5, 1, False)
                for (ring, load), value in zip(rows, values, strict=True)
            ],
            [Band(None, None, "")] * len(rows),
        )
        for name, values in numbers.items()
    ]
    told = sweep_answer.sentence(found, curves, Along("rx_descriptors", "offered_gbps"))
    assert told == (
        "Device writes that hit the cache: 20 to 90 %, highest with receive descriptors per queue "
        "= 256 and offered load on the wire of each port = 25 Gbit/s. Sent, on the wire: the same "
        "at all values of receive descriptors per queue, within the intervals."
    )


def test_of_more_settings_fewer_metrics_are_told() -> None:
    two = {"rx_descriptors": [256, 512], "cores": [2, 4], "ddio_ways": [2, 4]}
    numbers = {"throughput_gbps": [50.0, 80.0], "pcie_write_hit_rate": [90.0, 30.0]}
    found = Summary(
        1, list(two), list(numbers), {}, pl.DataFrame({**two, **numbers}), pl.DataFrame()
    )
    curves = [
        Curve(
            name,
            "",
            [
                CurvePoint({key: values[at] for key, values in two.items()}, number, 0.1, 1, False)
                for at, number in enumerate(known)
            ],
            [Band(None, None, "")] * 2,
        )
        for name, known in numbers.items()
    ]
    assert sweep_answer.sentence(found, curves) == (
        "Sent, on the wire: 50 to 80, highest with receive descriptors per queue = 512, cores in "
        "use = 4 and ways in which the device may allocate = 4."
    )
