"""`skipline demo`: a ring that fits the cache and one that leaks, told in words."""

import json
import textwrap
from typing import Any, NamedTuple

from skipline.runs import simulation
from skipline.runs.result import Result
from skipline.text import terminal
from skipline.text.table import Column, TextTable

SCENARIO = "experiments/ddio-bench/l2fwd.toml"
SMALL, LARGE = 256, 4096
MORE_WAYS = 6
_WIDTH = 100
# The numbers that tell a leak, as tables and programs have them.
_NUMBERS = (
    "pcie_write_hit_rate",
    "dram_write_gbytes_per_s",
    "throughput_gbps",
    "rx_dropped",
    "latency_ns.p99",
)


class Leak(NamedTuple):
    """Two runs that differ in the length of the receive ring."""

    small: Result
    large: Result


def measure(seed: int | None) -> Leak:
    """Simulate both."""
    with terminal.progress_bar("two rings") as bar:
        small, large = (_run(ring, seed, bar) for ring in (SMALL, LARGE))
    return Leak(small, large)


def _run(ring: int, seed: int | None, bar: terminal.Bar) -> Result:
    before = 0.0 if ring == SMALL else 0.5

    def show(state: dict[str, float]) -> None:
        bar.update(before + state["fraction"] / 2, f"ring of {ring}")

    return simulation.run(SCENARIO, seed=seed, progress=show, rx_descriptors=ring)


def story(leak: Leak) -> str:
    """Tell what happened, in paragraphs."""
    small, large = leak
    keys = large.scenario
    size = float(keys["packet_bytes"])
    paragraphs = (
        f"A network card does not write packets to memory: on this server ({large.platform}) it "
        f"writes them into {keys['ddio_ways']} ways of the last-level cache, from where a core "
        f"forwards them. Both runs are the same {keys['offered_gbps']:g} Gbit/s of packets of "
        f"{size:.0f} B; only the receive ring of the card differs.",
        f"Ring of {SMALL} packets, {_mib(SMALL * size)}: it fits. "
        f"{_hits(small)} of the lines that the card writes are found in the cache, and "
        f"{_written(small)} GB/s go to memory.",
        f"Ring of {LARGE} packets, {_mib(LARGE * size)}: it leaks. {_hits(large)} are found: a "
        f"packet that no core has read yet is pushed out by the next one, and the core fetches "
        f"it back. {_written(large)} GB/s go to memory, {_times(leak)} as much; "
        f"{_lost(large)} of the packets are lost, {_lost(small)} with the small ring, and the "
        f"slowest 1 % take {_p99_us(large):,.0f} us instead of {_p99_us(small):,.0f}.",
    )
    return "\n\n".join(textwrap.fill(one, _WIDTH) for one in paragraphs)


def questions(page: str | None) -> str:
    """Name the page, and offer the next questions as commands that work as they stand."""
    ring = f"skipline run {SCENARIO} --set rx_descriptors={LARGE}"
    first = f"The whole run of the large ring, with figures: {page}\n\n" if page else ""
    return (
        f"{first}Next:\n"
        f"  Do more ways for the card help?  {ring} --set ddio_ways={MORE_WAYS}\n"
        f"  Who pushed out whose packets?    {ring} --explain\n"
        "  And on a server of mine?         skipline init"
    )


def numbers_table(leak: Leak) -> TextTable:
    """Return the numbers of both runs, for programs."""
    table = TextTable(Column(None, key) for key in ("number", "unit", "small_ring", "large_ring"))
    for name in _NUMBERS:
        table.add(name, leak.large[name].unit, *(one.scalar(name) for one in leak))
    return table


def as_json(leak: Leak) -> str:
    """Return the numbers of both runs as one object."""
    whole: dict[str, Any] = {"scenario": SCENARIO, "seed": leak.large.seed}
    for name, ring, result in (
        ("small_ring", SMALL, leak.small),
        ("large_ring", LARGE, leak.large),
    ):
        numbers = {number: result.scalar(number) for number in _NUMBERS}
        whole[name] = {"rx_descriptors": ring, **numbers}
    return json.dumps(whole, indent=2)


def _mib(size_bytes: float) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"


def _hits(result: Result) -> str:
    return f"{result.scalar('pcie_write_hit_rate'):.0f} %"


def _written(result: Result) -> str:
    return f"{result.scalar('dram_write_gbytes_per_s'):.1f}"


def _times(leak: Leak) -> str:
    small, large = (one.scalar("dram_write_gbytes_per_s") for one in leak)
    return f"{large / small:.0f} times" if small else "many times"


def _lost(result: Result) -> str:
    lost, received = result.scalar("rx_dropped"), result.scalar("rx_packets")
    return f"{100 * lost / (lost + received):.0f} %" if lost + received else "0 %"


def _p99_us(result: Result) -> float:
    return result.scalar("latency_ns.p99") / 1e3
