"""Metrics are described by their result, and results without descriptions by the declarations."""

import csv
import io
import json
from pathlib import Path

import pytest

from skipline.report import model_bands, run_page
from skipline.runs import result, result_view
from skipline.runs.run_command import RESULT_FILE
from skipline.scenarios import metrics
from skipline.store import summary


@pytest.fixture
def text(short_run: Path) -> str:
    return (short_run / RESULT_FILE).read_text()


def without_descriptions(text: str) -> str:
    """Return a result as it was before metrics described themselves."""
    document = json.loads(text)
    for metric in document["metrics"].values():
        for key in ("group", "label", "headline"):
            del metric[key]
    return json.dumps(document)


def test_every_metric_of_a_run_is_declared_as_it_is_described(text: str) -> None:
    declared = metrics.declared()
    for name, metric in result.parse(text, RESULT_FILE).metrics.items():
        known = declared[name.removeprefix("main:")]
        assert (metric.unit, metric.group, metric.label, metric.headline) == (
            known.unit,
            known.group,
            known.label,
            known.headline,
        )


def test_metrics_of_a_group_are_declared_together() -> None:
    groups = [entry.group for entry in metrics.declared().values()]
    assert groups == sorted(groups, key=groups.index)
    assert groups[0] == "Cache"


def test_an_old_result_looks_like_a_new_one(text: str) -> None:
    new = result.parse(text, RESULT_FILE)
    old = result.parse(without_descriptions(text), RESULT_FILE)
    assert list(result_view.groups(old)) == list(result_view.groups(new))
    assert list(old.headlines()) == list(new.headlines())
    assert old.metrics["rx_mpps"].label is None


def test_the_description_of_the_result_wins(text: str) -> None:
    stored = result.parse(text, RESULT_FILE)
    stored.metrics["rx_mpps"] = result.Metric(
        value=1.0, unit="Mpps", group="Cores", label="Renamed", headline=True
    )
    assert stored.description("rx_mpps") == ("Cores", "Renamed", True)
    assert "rx_mpps" in stored.headlines()
    cores = dict(result_view.groups(stored))["Cores"]
    assert "rx_mpps" in [entry.metric for entry in cores]


def test_a_metric_that_nobody_declared_has_its_name_for_a_label(text: str) -> None:
    stored = result.parse(text, RESULT_FILE)
    stored.metrics["brand_new"] = result.Metric(value=1.0, unit="lines")
    assert stored.description("brand_new") == ("More", "brand_new", False)


def test_metrics_of_another_tenant_are_one_group_after_all_others(text: str) -> None:
    stored = result.parse(text, RESULT_FILE)
    for name in ("latency_ns", "rx_mpps"):
        stored.metrics[f"other:{name}"] = stored.metrics[name]
    *_, (title, entries) = result_view.groups(stored)
    assert title == "Tenant other"
    assert entries[0].metric == "other:rx_mpps"
    assert {entry.metric for entry in entries} == {"other:rx_mpps", "other:latency_ns"}


def test_a_page_says_labels_and_keeps_names_at_hand(text: str) -> None:
    html = run_page.page(result.parse(text, RESULT_FILE))
    assert '<div class="label">Device writes that hit the cache</div>' in html
    assert '<span title="time_in_regime.ring_full">Time in each regime, ring full</span>' in html
    assert ">pcie_write_hit_rate<" not in html


def test_the_reference_has_one_row_per_metric() -> None:
    rows = list(csv.DictReader(io.StringIO(metrics.table().as_csv())))
    assert [row["name"] for row in rows] == list(metrics.declared())
    assert [entry["name"] for entry in metrics.table().records()] == list(metrics.declared())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("latency_ns.p99", "Latency, 99th percentile"),
        ("b:latency_ns.p50", "Latency, median, of b"),
        ("latency_ns.p99.9", "Latency, 99.9th percentile"),
        ("time_in_regime.ring_full", "Time in each regime, ring full"),
        ("main:throughput_gbps", "Sent, on the wire, of main"),
        ("nosuch.p99", "nosuch.p99"),
    ],
)
def test_numbers_are_labelled_for_people(name: str, text: str) -> None:
    assert metrics.label(name) == text


def test_all_metrics_that_pages_draw_by_themselves_have_labels() -> None:
    for name in (*summary._FIRST, *model_bands.BESIDE):
        assert metrics.label(name) != name
        assert "_" not in metrics.label(name)
