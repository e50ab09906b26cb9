"""Measured against simulated: the host's kernels, run on a platform of the simulator."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skipline import _core
from skipline.host.measurement import (
    Bandwidth,
    Measurement,
    Role,
    lower_quartile,
    upper_quartile,
)

# Sizes nearer to a cache's edge are not judged.
EDGE_OCTAVES = 0.5
TOLERANCE = 0.15
_LINE_BYTES = 64
_VICTIM_CACHES = ("exclusive-victim", "non-inclusive")


@dataclass(frozen=True)
class Edge:
    """Working set that a cache, with those before it, just holds, on the platform."""

    cache: str
    capacity_bytes: int

    def is_near(self, working_set_bytes: int) -> bool:
        """Whether a working set is too near to speak for either side."""
        return abs(math.log2(working_set_bytes / self.capacity_bytes)) <= EDGE_OCTAVES


@dataclass(frozen=True)
class Size:
    """A working set of the chase: its measured and simulated latencies, in ns."""

    working_set_bytes: int
    role: Role
    near_edge_of: str | None
    measured_ns: float
    measured_min_ns: float
    measured_median_ns: float
    simulated_ns: float

    @property
    def error(self) -> float:
        """By how much the simulated latency differs, relative to the measured one."""
        return self.simulated_ns / self.measured_ns - 1

    @property
    def is_judged(self) -> bool:
        """Kept aside, and not near an edge."""
        return self.role == "kept" and self.near_edge_of is None


@dataclass(frozen=True)
class Stream:
    """Bandwidths of streams over an array, in GB/s: each measured and simulated."""

    array_bytes: int
    read: tuple[float, float]
    write: tuple[float, float]
    copy: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """Measured values of a host beside those of the simulation of its platform."""

    platform: str
    measured: str
    measurement: Measurement
    version: str
    edges: list[Edge]
    sizes: list[Size]
    streams: list[Stream]
    core_to_core_ns: tuple[float, float] | None

    @property
    def judged(self) -> list[Size]:
        """The sizes that judge."""
        return [size for size in self.sizes if size.is_judged]

    @property
    def judged_by_level(self) -> dict[str, int]:
        """The number of sizes that judge each level; 0 if its edges are too near to each other."""
        levels = [*(edge.cache for edge in self.edges), "memory"]
        counts = dict.fromkeys(levels, 0)
        for size in self.judged:
            beyond = sum(size.working_set_bytes > edge.capacity_bytes for edge in self.edges)
            counts[levels[beyond]] += 1
        return counts

    @property
    def within(self) -> int:
        """The number of judged sizes within the tolerance."""
        return sum(abs(size.error) <= TOLERANCE for size in self.judged)

    @property
    def worst(self) -> Size | None:
        """The one that differs most."""
        return max(self.judged, key=lambda size: abs(size.error), default=None)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--format json` prints."""
        worst = self.worst
        return {
            "platform": self.platform,
            "measured": self.measured,
            "machine": self.measurement.processor.name,
            "version": self.version,
            "passes": self.measurement.passes,
            "translation_bytes": self.measurement.pages.translation_bytes,
            "edges": [asdict(edge) for edge in self.edges],
            "summary": {
                "judged": len(self.judged),
                "judged_by_level": self.judged_by_level,
                "within": self.within,
                "tolerance": TOLERANCE,
                "worst_error": None if worst is None else worst.error,
            },
            "sizes": [
                {**asdict(size), "error": size.error, "judged": size.is_judged}
                for size in self.sizes
            ],
            "bandwidth_gbytes_per_s": [
                {
                    "array_bytes": stream.array_bytes,
                    **{
                        name: {"measured": pair[0], "simulated": pair[1]}
                        for name, pair in _kinds(stream)
                    },
                }
                for stream in self.streams
            ],
            "core_to_core_ns": None
            if self.core_to_core_ns is None
            else {"measured": self.core_to_core_ns[0], "simulated": self.core_to_core_ns[1]},
        }


def _kinds(stream: Stream) -> list[tuple[str, tuple[float, float]]]:
    return [("read", stream.read), ("write", stream.write), ("copy", stream.copy)]


def compare(
    platform: Path,
    measured: Path,
    measurement: Measurement,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Simulate the kernels of `measurement` on `platform`."""
    edges = _edges(json.loads(_core.platform(str(platform))))
    kernels = {
        "working_set_bytes": [chase.working_set_bytes for chase in measurement.chase],
        "pair_lines": measurement.kernel.pair_lines,
        "page_bytes": measurement.kernel.page_bytes,
        "window_pages": measurement.kernel.window_pages,
        "translation_bytes": measurement.pages.translation_bytes,
        "array_bytes": [stream.array_bytes for stream in measurement.bandwidth],
        "core_to_core": bool(measurement.core_to_core),
    }
    text = _core.host_kernels(str(platform), json.dumps(kernels), seed, progress)
    simulated = json.loads(text)
    sizes = [
        Size(
            working_set_bytes=chase.working_set_bytes,
            role=chase.role,
            near_edge_of=_near(edges, chase.working_set_bytes),
            measured_ns=lower_quartile(chase.latency_ns),
            measured_min_ns=min(chase.latency_ns),
            measured_median_ns=sorted(chase.latency_ns)[len(chase.latency_ns) // 2],
            simulated_ns=latency_ns,
        )
        for chase, latency_ns in zip(measurement.chase, simulated["latency_ns"], strict=True)
    ]
    streams = [
        _stream(stream, entry)
        for stream, entry in zip(measurement.bandwidth, simulated["streams"], strict=True)
    ]
    pairs = [lower_quartile(pair.latency_ns) for pair in measurement.core_to_core]
    between = simulated["core_to_core_ns"]
    line = (sorted(pairs)[len(pairs) // 2], between) if pairs and between is not None else None
    version = simulated["version"]
    return Comparison(
        str(platform), str(measured), measurement, version, edges, sizes, streams, line
    )


def _edges(platform: dict[str, Any]) -> list[Edge]:
    def lines(level: dict[str, Any], sets: int) -> int:
        return int(sets * level["ways"]["value"] * _LINE_BYTES)

    llc = platform["llc"]
    l1, l2 = (lines(platform[name], platform[name]["sets"]["value"]) for name in ("l1d", "l2"))
    last = lines(llc, llc["slices"]["value"] * llc["sets_per_slice"]["value"])
    # A line is in L2 or in a victim cache, not in both.
    beyond = l2 if llc["inclusion"]["value"] in _VICTIM_CACHES else 0
    return [Edge("L1D", l1), Edge("L2", l2), Edge("LLC", last + beyond)]


def _near(edges: list[Edge], working_set_bytes: int) -> str | None:
    return next((edge.cache for edge in edges if edge.is_near(working_set_bytes)), None)


def _stream(measured: Bandwidth, simulated: dict[str, float]) -> Stream:
    def pair(values: list[float], name: str) -> tuple[float, float]:
        return upper_quartile(values), simulated[name]

    return Stream(
        measured.array_bytes,
        pair(measured.read_gbytes_per_s, "read_gbytes_per_s"),
        pair(measured.write_gbytes_per_s, "write_gbytes_per_s"),
        pair(measured.copy_gbytes_per_s, "copy_gbytes_per_s"),
    )
