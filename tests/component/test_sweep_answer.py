"""Does the first sentence of a sweep's page call a difference what its intervals call noise?"""

import polars as pl

from skipline.report import sweep_page
from skipline.report.sweep_page import Swept
from skipline.store.curves import CurvePoint
from skipline.store.summary import Summary

Numbers = list[tuple[float, float]]


def sentence(**metrics: Numbers) -> str:
    """Return the answer over one axis, `rx_descriptors`: each metric's values with half widths."""
    rings = [256, 512, 1024]
    values = {name: [value for value, _ in numbers] for name, numbers in metrics.items()}
    frame = pl.DataFrame({"rx_descriptors": rings, **values})
    units = dict.fromkeys(metrics, "Gbit/s")
    summary = Summary(1, ["rx_descriptors"], list(metrics), units, frame, pl.DataFrame())
    curves = {
        name: [
            CurvePoint({"rx_descriptors": ring}, value, half, 1, False)
            for ring, (value, half) in zip(rings, numbers, strict=True)
        ]
        for name, numbers in metrics.items()
    }
    return sweep_page._answer(Swept(summary, curves, None, "A ring", ""))


def test_a_difference_within_the_intervals_is_none() -> None:
    told = sentence(
        throughput_gbps=[(80.0, 0.04), (79.98, 0.05), (79.99, 0.02)],
        dram_write_gbytes_per_s=[(4.0, 0.1), (8.0, 0.1), (10.0, 0.1)],
    )
    assert told.startswith(
        "dram_write_gbytes_per_s is lowest, 4.000 Gbit/s, at rx_descriptors 256."
    )
    assert told.endswith(
        "throughput_gbps, 80.00 Gbit/s, is the same everywhere within its intervals."
    )


def test_others_that_may_be_as_good_are_counted() -> None:
    told = sentence(throughput_gbps=[(80.0, 0.3), (79.8, 0.3), (60.0, 0.3)])
    assert told == (
        "throughput_gbps is highest, 80.00 Gbit/s, at rx_descriptors 256, and no worse at 1 of the "
        "others."
    )


def test_a_sweep_that_changes_nothing_says_so() -> None:
    told = sentence(throughput_gbps=[(80.0, 0.3), (79.8, 0.3), (79.9, 0.3)])
    assert told == "throughput_gbps, 80.00 Gbit/s, is the same everywhere within its intervals."
