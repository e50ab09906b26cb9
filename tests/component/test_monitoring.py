"""Do rules, alerts and dashboard name what the exporter serves, and do the tools take them?"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import REPOSITORY

FOLDER = REPOSITORY / "packaging/monitoring"
EXPORTER = REPOSITORY / "crates/host/cli/src/monitor/prometheus"
_METRIC = re.compile(r"\bskipline_[a-z_]+")
_RECORDED = re.compile(r"\bskipline:[a-z_0-9]+:[a-z_0-9]+")
FEWEST = 8


def _served() -> set[str]:
    """Return the metrics of the exporter, from its sources."""
    sources = (path.read_text() for path in EXPORTER.glob("*.rs"))
    return {name for text in sources for name in _METRIC.findall(text)}


def _queries() -> list[str]:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    panels = dashboard["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


@pytest.mark.parametrize("name", ["rules.yml", "rules_test.yml", "dashboard.json"])
def test_only_metrics_that_are_served_are_named(name: str) -> None:
    named = set(_METRIC.findall((FOLDER / name).read_text()))
    assert named and named <= _served()


def test_each_metric_is_documented_and_shown() -> None:
    served = {name for name in _served() if name != "skipline_window_seconds"}
    page = (REPOSITORY / "docs/how-to/grafana.md").read_text()
    rules = (FOLDER / "rules.yml").read_text()
    shown = "\n".join([*_queries(), rules])
    assert len(served) >= FEWEST
    assert {name for name in served if name not in page} == set()
    assert {name for name in served if name not in shown} == {"skipline_dsa_requests_per_second"}


def test_each_recorded_rule_that_is_used_is_recorded() -> None:
    rules = (FOLDER / "rules.yml").read_text()
    recorded = set(re.findall(r"record: (\S+)", rules))
    used = {name for text in [*_queries(), rules] for name in _RECORDED.findall(text)}
    assert used == recorded


def test_the_rules_of_alerts_are_those_of_the_page() -> None:
    alerts = re.findall(r"alert: (\S+)", (FOLDER / "rules.yml").read_text())
    page = (REPOSITORY / "docs/how-to/grafana.md").read_text()
    tests = (FOLDER / "rules_test.yml").read_text()
    assert [name for name in alerts if f"`{name}`" not in page] == []
    assert [name for name in alerts if f"alertname: {name}" not in tests] == []


def test_the_alerts_fire_on_a_leak_and_on_nothing_else(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool (Debian: prometheus) is not here")
    done = subprocess.run(
        [FOLDER / "check.sh"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.soak
def test_prometheus_answers_the_panels_of_the_picture(tmp_path: Path) -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus (Debian: prometheus) is not here")
    drawn = tmp_path / "grafana.svg"
    done = subprocess.run(
        [sys.executable, FOLDER / "draw.py", drawn], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert drawn.read_text() == (REPOSITORY / "docs/how-to/grafana.svg").read_text()
