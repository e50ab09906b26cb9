"""Does the first sentence of a sweep's page call a difference what its intervals call noise?"""

from collections.abc import Sequence

import polars as pl

from skipline.report import best_range, differences, losses, sweep_answer
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
        "Receive descriptors per queue: 256 is best for DRAM writes. "
        "With 1024: DRAM writes 6 Gbit/s higher. "
        "Sent, on the wire: 79.98 to 80 Gbit/s, within the intervals."
    )


def test_others_that_may_be_as_good_are_named() -> None:
    told = sentence(throughput_gbps=[(80.0, 0.3), (79.8, 0.3), (60.0, 0.3)])
    assert told == (
        "Receive descriptors per queue: 256 to 512 are as good as any for sent on the wire. With "
        "1024: sent on the wire 20 Gbit/s lower."
    )


def test_all_metrics_have_one_statement_on_where_they_are_best() -> None:
    told = sentence(
        throughput_gbps=[(80.0, 0.3), (79.9, 0.3), (60.0, 0.3)],
        dram_write_gbytes_per_s=[(4.3, 0.3), (4.0, 0.3), (9.5, 0.3)],
    )
    assert told == (
        "Receive descriptors per queue: 256 to 512 are as good as any for sent on the wire and "
        "DRAM writes. With 1024: sent on the wire 20 Gbit/s lower; DRAM writes 5.5 Gbit/s higher."
    )
    # A best of one of them alone is not in it.
    told = sentence(
        throughput_gbps=[(80.0, 0.3), (79.9, 0.3), (60.0, 0.3)],
        dram_write_gbytes_per_s=[(9.5, 0.3), (4.0, 0.3), (4.3, 0.3)],
    )
    assert "queue: 512 is best for sent" in told
    assert "With 256: DRAM writes 5.5 Gbit/s higher. With 1024: sent on the wire 20" in told


def test_a_trade_off_is_told_with_what_each_end_costs() -> None:
    told = sentence(
        throughput_gbps=[(50.0, 0.3), (79.9, 0.3), (80.0, 0.3)],
        dram_write_gbytes_per_s=[(4.0, 0.3), (7.0, 0.3), (9.5, 0.3)],
    )
    assert told == (
        "Receive descriptors per queue: no value is best for all; best is 512 to 1024 for sent on "
        "the wire, but 256 for DRAM writes. With 256: sent on the wire 30 Gbit/s lower. With 1024: "
        "DRAM writes 5.5 Gbit/s higher."
    )


def test_what_people_choose_is_told_as_advice_with_what_was_not_tried() -> None:
    hits = of_one("throughput_gbps", "Gbit/s", [80.0, 80.0, 60.0], [Band(None, None, "")] * 3)
    choice = Along("rx_descriptors", is_choice=True)
    assert best_range.sentence([hits], choice) == (
        "Receive descriptors per queue: choose 256 to 512, as good as any for sent on the wire. "
        "With 1024: sent on the wire 20 Gbit/s lower. Bursts of more than 512 packets for a queue "
        "may be lost. No smaller value was tried."
    )
    falls = hits._replace(points=[one._replace(value=-one.value) for one in hits.points])
    told = best_range.sentence([falls], choice)
    assert "choose 1024, best for" in told
    assert told.endswith("No larger value was tried.")
    middle = of_one("throughput_gbps", "Gbit/s", [60.0, 80.0, 60.0], [Band(None, None, "")] * 3)
    assert "tried" not in best_range.sentence([middle], choice)


def losing(*shares: tuple[float, ...]) -> Curve:
    points = [
        CurvePoint({"rx_descriptors": ring}, sum(of) / len(of), 1.0, len(of), False, of)
        for ring, of in zip(RINGS, shares, strict=True)
    ]
    return Curve(losses.METRIC, "percent", points, [Band(None, None, "")] * 3)


def test_what_loses_packets_is_no_advice_however_good_it_is_otherwise() -> None:
    writes = of_one("dram_write_gbytes_per_s", "GB/s", [0.1, 0.6, 8.0], [Band(None, None, "")] * 3)
    one_drops = losing((0.06, 0.05, 0.04), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    choice = Along("rx_descriptors", is_choice=True, loss=one_drops)
    told = best_range.sentence([writes], choice)
    # A lower number where packets are lost is no cost of the advice.
    assert "choose 512, best for DRAM writes. With 1024: DRAM writes 7.4 GB/s higher." in told
    assert "With 256" not in told
    assert losses.statement(one_drops, "rx_descriptors", "cores") == (
        "Packets are lost at 1 of 3 points: 0.05 % of those that arrive."
    )
    assert "tried" not in told
    assert best_range.sentence([], choice) == (
        "Receive descriptors per queue: choose 512 to 1024; the others lose more packets. Bursts "
        "of more than 1024 packets for a queue may be lost. No larger value was tried."
    )
    assert losses.statement(one_drops, "rx_descriptors") == (
        "Packets are lost with 256: 0.05 % of those that arrive; else none."
    )
    # A metric that has no value but where packets are lost is left out.
    alone = writes._replace(points=writes.points[:1], bands=writes.bands[:1])
    assert "choose 512 to 1024; the others" in best_range.sentence([alone], choice)
    # The null model: without the losses the smallest ring wins.
    assert "choose 256" in best_range.sentence([writes], choice._replace(loss=None))


def test_where_all_values_lose_those_that_lose_least_are_left() -> None:
    writes = of_one("dram_write_gbytes_per_s", "GB/s", [0.1, 0.6, 8.0], [Band(None, None, "")] * 3)
    every = losing((31.0, 31.2), (11.0, 11.1), (11.0, 11.2))
    told = best_range.sentence([writes], Along("rx_descriptors", is_choice=True, loss=every))
    assert "choose 512" in told
    assert losses.statement(every, "rx_descriptors") == (
        "Packets are lost at all points: 11 to 31 % of those that arrive."
    )
    # A little more loss rules no value out; the cost of a value that loses more is told.
    little = losing((14.0, 14.1), (14.6, 14.7), (31.0, 31.2))
    told = best_range.sentence([writes], Along("rx_descriptors", is_choice=True, loss=little))
    assert "choose 256, best for DRAM writes. With 1024: DRAM writes 7.9 GB/s higher." in told
    alike = losing((14.0,), (14.6,), (15.0,))
    assert losses.acceptable(alike, "rx_descriptors") is None
    assert losses.statement(alike, "rx_descriptors").endswith("This setting does not change that.")
    assert "Bursts" not in told
    none = losing((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    assert losses.statement(none, "rx_descriptors") == "Nothing is lost at any point."
    assert losses.acceptable(none, "rx_descriptors") is None


def test_values_that_are_no_neighbours_are_not_chosen() -> None:
    hits = of_one("throughput_gbps", "Gbit/s", [80.0, 60.0, 80.0], [Band(None, None, "")] * 3)
    told = best_range.sentence([hits], Along("rx_descriptors", is_choice=True))
    assert "256 and 1024 are as good as any" in told
    assert "choose" not in told


def of_one(name: str, unit: str, values: Sequence[float], bands: Sequence[Band]) -> Curve:
    points = [
        CurvePoint({"rx_descriptors": ring}, value, 0.0, 3, False)
        for ring, value in zip(RINGS, values, strict=True)
    ]
    return Curve(name, unit, points, bands)


def test_what_the_model_cannot_tell_apart_is_not_a_difference() -> None:
    values = [5_349.0, 5_360.0, 5_367.0]
    frame = pl.DataFrame({"rx_descriptors": RINGS, "latency_ns.p99": values})
    units = {"latency_ns.p99": "ns"}
    found = Summary(1, ["rx_descriptors"], list(units), units, frame, pl.DataFrame())
    wide = of_one("latency_ns.p99", "ns", values, [Band(0.0, 1e6, "")] * 3)
    along = Along("rx_descriptors")
    assert sweep_answer.sentence(found, [wide], along) == (
        "Latency, 99th percentile: 5.349 to 5.367 µs everywhere; the model cannot tell these apart."
    )
    assert differences.why_alike(wide, along) == "model"
    # Each must be possible for the other: the band of the worst does not reach the best.
    one_way = wide._replace(bands=[Band(0.0, 1e6, ""), Band(0.0, 1e6, ""), Band(5_350.0, 1e6, "")])
    assert differences.why_alike(one_way, along) is None
    # Where no error is known nothing is hidden by it.
    unknown = wide._replace(bands=[Band(None, None, "far")] * 3)
    assert differences.why_alike(unknown, along) is None
    assert "256 is best for latency" in sweep_answer.sentence(found, [unknown], along)


def test_rates_that_exceed_what_is_offered_by_a_little_are_not_apart() -> None:
    bands = [Band(78.0, 80.0, "")] * 3
    rates = of_one("throughput_gbps", "Gbit/s", [79.99, 80.0, 80.0005], bands)
    assert differences.why_alike(rates, Along("rx_descriptors")) == "model"
    lossy = of_one("throughput_gbps", "Gbit/s", [77.9, 80.0, 80.0005], bands)
    assert differences.why_alike(lossy, Along("rx_descriptors")) is None


def test_a_value_within_the_model_s_error_of_the_best_is_as_good() -> None:
    hits = of_one(
        "pcie_write_hit_rate",
        "percent",
        [97.0, 91.0, 23.0],
        [Band(90.0, 100.0, ""), Band(80.0, 100.0, ""), Band(None, None, "far")],
    )
    assert best_range.sentence([hits], Along("rx_descriptors")) == (
        "Receive descriptors per queue: 256 to 512 are as good as any for device writes that hit "
        "the cache. With 1024: device writes that hit the cache 74 pp lower."
    )


def test_a_sweep_that_changes_nothing_says_so() -> None:
    told = sentence(throughput_gbps=[(80.0, 0.3), (79.8, 0.3), (79.9, 0.3)])
    assert told == "Sent, on the wire: 79.8 to 80 Gbit/s, within the intervals."
    alike = sentence(throughput_gbps=[(80.0, 0.3), (80.0, 0.3), (80.0, 0.3)])
    assert alike == "Sent, on the wire: 80.00 Gbit/s at all points, within the intervals."


def test_what_is_nothing_everywhere_is_said_once_and_in_words() -> None:
    nothing = [(0.0, 0.0)] * 3
    told = sentence(
        throughput_gbps=[(80.0, 0.3), (60.0, 0.3), (50.0, 0.3)],
        rx_dropped=nothing,
        rx_loss_rate=nothing,
    )
    assert told.endswith("lower. Nothing is lost at any point.")
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


def of_two_points(**numbers: list[float]) -> str:
    """Return the answer over three settings at two points."""
    axes = {"rx_descriptors": [256, 512], "cores": [2, 4], "ddio_ways": [2, 4]}
    frame = pl.DataFrame({**axes, **numbers})
    found = Summary(1, list(axes), list(numbers), {}, frame, pl.DataFrame())
    curves = [
        Curve(
            name,
            "",
            [
                CurvePoint({key: values[at] for key, values in axes.items()}, number, 0.1, 1, False)
                for at, number in enumerate(known)
            ],
            [Band(None, None, "")] * 2,
        )
        for name, known in numbers.items()
    ]
    return sweep_answer.sentence(found, curves)


def test_of_more_settings_fewer_metrics_are_told() -> None:
    assert of_two_points(throughput_gbps=[50.0, 80.0], pcie_write_hit_rate=[90.0, 30.0]) == (
        "Sent, on the wire: 50 to 80, highest with receive descriptors per queue = 512, cores in "
        "use = 4 and ways in which the device may allocate = 4."
    )


def test_a_combination_that_is_best_for_all_metrics_is_told_instead_of_each() -> None:
    assert of_two_points(throughput_gbps=[50.0, 80.0], pcie_write_hit_rate=[30.0, 90.0]) == (
        "Receive descriptors per queue = 512, cores in use = 4 and ways in which the device may "
        "allocate = 4: best for sent on the wire and device writes that hit the cache."
    )
