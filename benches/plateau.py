"""Whether throughput stays where it is when a machine is offered more than it can do.

    python benches/plateau.py [PICTURE.html]

Thirteen scenarios are offered 1 to 99 Gbit/s, at least half as much again as they can do. Prints
the largest fall of each, writes one picture of all, and ends with 1 if a fall is too large. One
falls for a known cause, the IOTLB: the case beside it, without that cause, must not fall.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import altair as alt
import polars as pl

import skipline

FORWARDER = "experiments/ddio-bench/l2fwd.toml"
SHORT = {"run": {"batch_packets": 8000, "max_batches": 20}, "traffic.pattern": "fixed"}
OFFERED_GBPS = (1, 5, 7.5, 10, 12.5, 15, 17.5, 20, 25, 30, 35, 40, 50, 60, 80, 99.3)
MOST_FALL_PERCENT = 2.0

CASES: dict[str, dict[str, Any]] = {
    "64 B": {"packet_bytes": 60, "rx_descriptors": 512},
    "64 B, ring of 4096": {"packet_bytes": 60, "rx_descriptors": 4096},
    "64 B, four cores": {"packet_bytes": 60, "rx_descriptors": 256, "cores": 4},
    "64 B, E810": {"packet_bytes": 60, "rx_descriptors": 512, "nic": "e810"},
    "128 B, cores at 2 GHz": {"packet_bytes": 128, "rx_descriptors": 512, "core_ghz": 2.0},
    "300 B": {"packet_bytes": 300, "rx_descriptors": 256},
    "300 B, DDIO off": {"packet_bytes": 300, "rx_descriptors": 1024, "ddio_ways": 0},
    "512 B, IOMMU with 4K pages": {"packet_bytes": 512, "rx_descriptors": 512, "iommu": "4K"},
    "512 B, IOMMU with 2M pages": {"packet_bytes": 512, "rx_descriptors": 512, "iommu": "2M"},
    "1500 B, 400 random numbers each": {"rx_descriptors": 256, "rng_calls": 400},
    "L3 forwarder, 64 B": {
        "packet_bytes": 60,
        "rx_descriptors": 512,
        "application": "l3-forward",
    },
    # Of flows that come in turn the load decides which ones get through, and so how much of the
    # chain's tables is in use: throughput then goes up and down by 3 % from load to load.
    "chain, 128 B": {
        "packet_bytes": 128,
        "rx_descriptors": 512,
        "application": "chain",
        "traffic.pattern": "random",
    },
    "128 B beside memory kernels": {
        "packet_bytes": 128,
        "rx_descriptors": 512,
        "co_runner": [{"working_set_bytes": 1 << 26, "cores": 4, "pattern": "random"}],
    },
}

# What makes a case fall, and the case without it.
CAUSES = {
    "512 B, IOMMU with 4K pages": (
        "a full ring has more pages than the IOTLB",
        "512 B, IOMMU with 2M pages",
    ),
}


def curve(name: str) -> pl.DataFrame:
    """Return what a case sends of each load, in Gbit/s."""
    rows = []
    for offered in OFFERED_GBPS:
        settings = {**SHORT, **CASES[name], "offered_gbps": offered}
        sent = skipline.run(FORWARDER, settings).scalar("throughput_gbps")
        rows.append((name, float(offered), sent))
    return pl.DataFrame(rows, schema=["case", "offered", "sent"], orient="row")


def largest_fall(curve: pl.DataFrame) -> float:
    """Return by how much, in percent, what is sent falls below what was sent of a lower load."""
    return float(max(100 * (1 - curve["sent"] / curve["sent"].cum_max())))


def main() -> None:
    """Print the falls and write the picture."""
    with ThreadPoolExecutor() as threads:
        curves = dict(zip(CASES, threads.map(curve, CASES), strict=True))
    falls = {name: largest_fall(one) for name, one in curves.items()}
    unexplained = []
    for name, one in curves.items():
        reach = 100 * OFFERED_GBPS[-1] / max(one["sent"])
        print(f"{name:32} offered up to {reach:5.0f} %  largest fall {falls[name]:.1f} %")
        fall = falls[name]
        if fall > MOST_FALL_PERCENT and name in CAUSES:
            cause, without = CAUSES[name]
            fall = falls[without]
            print(f"{'':32} because {cause}; {without}: {fall:.1f} %")
        unexplained.append(fall)
    picture = alt.Chart(pl.concat(curves.values())).mark_line(point=True)
    picture = picture.encode(
        x=alt.X("offered", title="offered, Gbit/s"),
        y=alt.Y("sent", title="sent, Gbit/s"),
        color=alt.Color("case", title=None, sort=list(CASES), scale=alt.Scale(scheme="category20")),
    )
    target = sys.argv[1] if sys.argv[1:] else "plateau.html"
    picture.properties(width=640, height=420).save(target, inline=True)
    print(f"wrote {target}")
    sys.exit(max(unexplained) > MOST_FALL_PERCENT)


if __name__ == "__main__":
    main()
