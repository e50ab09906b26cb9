"""Numbers of a result are found by the names of its tables; a mistyped name gets a suggestion."""

from pathlib import Path

import pytest

import skipline
from skipline.runs import result
from skipline.runs.run_command import RESULT_FILE


@pytest.fixture
def stored(short_run: Path) -> result.Result:
    return result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)


def test_every_number_has_the_name_that_tables_show(stored: result.Result) -> None:
    for entry in stored.entries():
        name = entry.metric if entry.component is None else f"{entry.metric}.{entry.component}"
        found = stored[name]
        assert (found.value, found.ci95, found.unit) == entry[2:]
        assert name in stored
        if entry.value is not None:
            assert stored.scalar(name) == entry.value


def test_a_metric_is_found_with_all_its_components(stored: result.Result) -> None:
    assert stored["latency_ns"] is stored.metrics["latency_ns"]
    assert stored["latency_ns.p99.9"].label == stored["latency_ns"].label


def test_a_name_with_a_dot_of_its_own_is_found(stored: result.Result) -> None:
    stored.metrics["tenant.1:rx_mpps"] = result.Metric(value={"a.b": 2.0}, unit="Mpps")
    assert stored.scalar("tenant.1:rx_mpps.a.b") == 2.0


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pcie_write_hitrate", "no metric 'pcie_write_hitrate' (did you mean 'pcie_write_hit_r"),
        ("pcie_write_hitrate", " or 'pcie_read_hit_rate'?); this result has "),
        ("zzz", "no metric 'zzz'; this result has "),
        ("latency_ns.p999", "latency_ns: no component 'p999' (did you mean 'p99.9'"),
        ("latency_ns.p999", "components: "),
        ("latency_n.p99", "did you mean 'latency_ns'"),
        ("throughput_gbps.core0", "throughput_gbps: no component 'core0': the metric is a single"),
        ("ssd_read_gbytes_per_s", "this run has no such metric; in others it is: "),
        ("", "no metric ''; "),
    ],
)
def test_an_unknown_name_is_a_key_error_that_suggests_others(
    stored: result.Result, name: str, told: str
) -> None:
    for look_up in (stored.__getitem__, stored.scalar):
        with pytest.raises(KeyError) as raised:
            look_up(name)
        assert isinstance(raised.value, skipline.NoSuchNumber)
        # KeyError itself would print it in quotes.
        assert told in str(raised.value) and not str(raised.value).startswith('"')
    assert name not in stored


def test_a_breakdown_is_no_single_number_and_says_what_is(stored: result.Result) -> None:
    with pytest.raises(skipline.NoSuchNumber, match=r"its components: .*latency_ns\.p99"):
        stored.scalar("latency_ns")


def test_of_many_components_the_first_are_listed(stored: result.Result) -> None:
    value = {f"core{core}": 1.0 for core in range(56)}
    stored.metrics["ipc"] = result.Metric(value=dict(value), unit="1")
    with pytest.raises(skipline.NoSuchNumber, match=r"core19 and 36 more$"):
        stored["ipc.zzz"]
