"""Draws the dashboard over a recorded leak: draw.py FILE.svg (Debian: prometheus).

Prometheus reads what `fake-machines skylake` counts while its ways of I/O are eight, then two, then
eight again, records the rules, and answers the queries of the dashboard; each panel becomes a small
chart in the dashboard's order.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import vl_convert

FOLDER = Path(__file__).parent
BEGIN_S = 1_700_000_000
STEP_S = 15
MINUTES = 40
# Of 40 minutes, those in which the ways are two.
LEAK = range(12, 28)
WRITE_LINES, READ_LINES = 120e6, 100e6
WAY_BYTES = 2_359_296.0
# Eight rings of 1,024 frames of the largest size.
RING_BYTES = 1024.0 * 8 * 1536
# Hit rates in percent with eight ways and with two: 30 and 8 more for each way.
HITS = {False: 94, True: 46}
READ_HITS = {False: 99, True: 66}
SHOWN = (
    "Hit rates of devices",
    "Lines that devices write",
    "DRAM",
    "Receive rings and the ways of I/O",
)
NAMES = {"percentunit": "share", "ops": "lines/s", "Bps": "bytes/s", "bytes": "bytes"}


def recorded() -> Iterator[str]:
    """Yield the lines of the exporter as OpenMetrics, by metric and then by time."""
    times = range(0, MINUTES * 60 + 1, STEP_S)
    lines: dict[tuple[str, str], list[float]] = {}
    totals: dict[tuple[str, str], float] = {}
    for second in times:
        leaks = second // 60 in LEAK
        for request, rate, hits in (
            ("write", WRITE_LINES, HITS[leaks]),
            ("read", READ_LINES, READ_HITS[leaks]),
        ):
            for result, share in (("hit", hits), ("miss", 100 - hits)):
                key = (request, result)
                totals[key] = totals.get(key, 0.0) + rate * STEP_S * share / 100
                lines.setdefault(key, []).append(totals[key])
    yield "# TYPE skipline_pcie_lines counter"
    for (request, result), values in lines.items():
        labels = f'socket="0",request="{request}",result="{result}"'
        yield from _series("skipline_pcie_lines_total", labels, times, values)
    leaking = [second // 60 in LEAK for second in times]
    dram = {
        "read": [READ_LINES * 64 * (100 - READ_HITS[it]) / 100 for it in leaking],
        "write": [WRITE_LINES * 64 * (100 - HITS[it]) / 100 for it in leaking],
    }
    yield "# TYPE skipline_dram_bytes_per_second gauge"
    for direction, values in dram.items():
        labels = f'socket="0",direction="{direction}"'
        yield from _series("skipline_dram_bytes_per_second", labels, times, values)
    rings = [RING_BYTES] * len(times)
    for name, labels, values in (
        ("skipline_io_ways_bytes", 'socket="0"', [WAY_BYTES * (2 if it else 8) for it in leaking]),
        ("skipline_receive_ring_bytes", 'socket="0",interface="ens1f0"', rings),
        ("skipline_window_seconds", "", [1.0] * len(times)),
    ):
        yield f"# TYPE {name} gauge"
        yield from _series(name, labels, times, values)
    yield "# EOF"


def _series(name: str, labels: str, times: range, values: Sequence[float]) -> Iterator[str]:
    own = ",".join(part for part in ('instance="server-7",job="skipline"', labels) if part)
    for second, value in zip(times, values, strict=True):
        yield f"{name}{{{own}}} {value:.0f} {BEGIN_S + second}"


class Prometheus:
    """Prometheus over a folder of blocks, on a port of its own."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        config = folder / "prometheus.yml"
        config.write_text("global: {}\n")
        self.process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--storage.tsdb.retention.time=100y",
                f"--web.listen-address={self.address}",
            ],
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                self._get("/-/ready")
                return
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None:
                    raise SystemExit("error: prometheus has ended") from None
                time.sleep(0.1)

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://{self.address}{path}") as answer:
            read: bytes = answer.read()
            return read

    def query(self, text: str) -> list[dict[str, Any]]:
        """Return the series of a query over the recorded time."""
        asked = {
            "query": text,
            "start": BEGIN_S + 120,
            "end": BEGIN_S + MINUTES * 60,
            "step": STEP_S,
        }
        answer = json.loads(self._get(f"/api/v1/query_range?{urllib.parse.urlencode(asked)}"))
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait()


def _promtool(*words: str | Path) -> None:
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: promtool {words[0]} {words[1]}: {done.stderr.strip()}")


def panels(folder: Path) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each panel that is shown with the points of its queries."""
    metrics = folder / "metrics.txt"
    metrics.write_text("\n".join(recorded()) + "\n")
    _promtool("tsdb", "create-blocks-from", "openmetrics", metrics, folder / "data")
    # A running Prometheus answers the rules, and the next one reads what was recorded: twice, as
    # rules use others.
    times = [f"--start={BEGIN_S}", f"--end={BEGIN_S + MINUTES * 60}", "--eval-interval=15s"]
    for _ in range(2):
        server = Prometheus(folder)
        _promtool(
            *("tsdb", "create-blocks-from", "rules", *times, f"--url=http://{server.address}"),
            *(f"--output-dir={folder / 'data'}", FOLDER / "rules.yml"),
        )
        server.stop()
    server = Prometheus(folder)
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    found = []
    for title in SHOWN:
        panel = next(one for one in dashboard["panels"] if one["title"] == title)
        points = [
            {
                "minute": (at - BEGIN_S) / 60,
                "value": float(value),
                "series": _legend(target, series),
            }
            for target in panel["targets"]
            for series in server.query(_filled(target["expr"]))
            for at, value in series["values"]
        ]
        found.append((panel, points))
    server.stop()
    return found


def _filled(query: str) -> str:
    return query.replace("$__rate_interval", "1m").replace("$instance", ".+")


def _legend(target: dict[str, Any], series: dict[str, Any]) -> str:
    text: str = target["legendFormat"]
    for name, value in series["metric"].items():
        text = text.replace("{{" + name + "}}", value)
    return text.replace(", server-7 socket 0", "")


def drawn(shown: list[tuple[dict[str, Any], list[dict[str, Any]]]]) -> str:
    """Return the panels as an SVG, two in a row."""
    charts = []
    for panel, points in shown:
        unit = panel["fieldConfig"]["defaults"]["unit"]
        axis = {"title": NAMES[unit], "format": ".0%" if unit == "percentunit" else "~s"}
        encoding = {
            "x": {"field": "minute", "type": "quantitative", "title": "minute"},
            "y": {"field": "value", "type": "quantitative", "axis": axis},
            "color": {"field": "series", "type": "nominal", "title": None},
        }
        size = {"width": 300, "height": 130}
        charts.append(
            {
                "title": panel["title"],
                **size,
                "data": {"values": points},
                "mark": "line",
                "encoding": encoding,
            }
        )
    config = {"background": "white", "legend": {"orient": "bottom", "columns": 2}}
    specification = {
        "concat": charts,
        "columns": 2,
        "resolve": {"scale": {"color": "independent"}},
        "config": config,
    }
    svg: str = vl_convert.vegalite_to_svg(specification)
    return svg


def main(out: str) -> None:
    """Draw into a file."""
    with tempfile.TemporaryDirectory() as folder:
        shown = panels(Path(folder))
    for panel, points in shown:
        if not points:
            raise SystemExit(f"error: nothing answers the panel {panel['title']}")
    Path(out).write_text(drawn(shown))


if __name__ == "__main__":
    main(*sys.argv[1:])
