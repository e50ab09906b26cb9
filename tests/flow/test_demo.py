"""`skipline demo` shows what DDIO saves; `skipline budget` how much time a packet has."""

import csv
import io

import pytest

from command_line import Skipline

SHORT = ("demo", "--messages", "10240")
PERCENTILES = ("p25", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "p99.999")


def test_the_demo_reports_both_sides_for_programs(skipline: Skipline) -> None:
    report = skipline(*SHORT, "--format", "json").json
    off, on = report["ddio_off"], report["ddio_on"]
    for side in (off, on):
        latency = side["one_way_latency_us"]
        assert {"min", "max", "mean", "sd", "mean_ci99", *PERCENTILES} <= latency.keys()
        assert side["messages"] >= 10_240
        in_order = [latency[name] for name in ("min", *PERCENTILES, "max")]
        assert in_order == sorted(in_order)
        counters = side["counters_per_10_s"]
        ratio = counters["L3 misses of loads"] / counters["L2 misses of loads"]
        assert counters["L3 miss ratio, percent"] == pytest.approx(100 * ratio)
        ipc = counters["instructions"] / counters["cycles"]
        assert counters["instructions per cycle"] == pytest.approx(ipc)
    gap_ns = (off["one_way_latency_us"]["p50"] - on["one_way_latency_us"]["p50"]) * 1e3
    assert report["off_minus_on_ns"]["p50"] == pytest.approx(gap_ns)
    # Half of two dependent loads, each from memory instead of the LLC.
    assert 50 < gap_ns < 100
    assert (
        on["counters_per_10_s"]["L3 misses of loads"] * 20
        < (off["counters_per_10_s"]["L3 misses of loads"])
    )


def test_the_demo_reports_to_people_as_sockperf_and_perf_stat_do(skipline: Skipline) -> None:
    done = skipline(*SHORT)
    assert done.code == 0, done.err
    for part in (
        "99 % confidence interval of the average",
        "standard deviation",
        "one-way latency, us",
        "p99.999",
        "off - on, ns",
        "polling core in 10 s",
        "instructions per cycle",
        "L3 miss ratio, percent",
        "smallest frame at 10 Gbit/s",
    ):
        assert part in done.out, part


def test_equal_seeds_give_equal_reports_and_others_do_not(skipline: Skipline) -> None:
    first, again, other = (
        skipline(*SHORT, "--seed", seed, "--format", "csv").out for seed in ("3", "3", "4")
    )
    assert first == again
    assert first != other
    rows = list(csv.DictReader(io.StringIO(first)))
    assert rows[0].keys() == {"number", "unit", "ddio_off", "ddio_on"}


def test_too_few_messages_for_an_interval_are_refused(skipline: Skipline) -> None:
    done = skipline("demo", "--messages", "100")
    assert done.code == 2
    assert "10240" in done.err


def test_time_budgets_are_arithmetic_and_the_platform_is_in_the_ranges_of_the_blog(
    skipline: Skipline,
) -> None:
    budget = skipline("budget", "--format", "json").json
    assert budget["smallest frame at 10 Gbit/s"] == pytest.approx(67.2)
    assert budget["smallest frame at 40 Gbit/s"] == pytest.approx(16.8)
    assert budget["smallest frame at 100 Gbit/s"] == pytest.approx(6.72)
    assert budget["smallest frame at 200 Gbit/s"] == pytest.approx(3.36)
    assert budget["the frame alone at 100 Gbit/s"] == pytest.approx(5.12)
    assert budget["NIC, PCIe forwarding"] >= 150
    assert 60 <= budget["memory, per access"] <= 100


def test_a_platform_without_a_nic_has_no_budget(skipline: Skipline) -> None:
    done = skipline("budget", "three-level-lru")
    assert done.code == 2
    assert "nic.rx_pipeline_ns" in done.err
