#!/usr/bin/env python3
"""Forwarding through the slice-aware pool against the standard one, in interleaved pairs.

One process has two ports whose drivers copy packets into mbufs without end, one with either pool;
cores poll them in turns. Prints pairs, the median of their ratios and its spread.
"""

import argparse
import os
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

STANDARD, SLICE = "ring_mp_mc", "skipline_slice"
PACKETS = 1024


def write_capture(path: Path, frame_bytes: int) -> Path:
    """Write a capture of UDP packets of one size."""
    addresses = bytes.fromhex("02000000aa02 02000000aa01 0800")
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, frame_bytes - 14, 0, 0, 64, 17, 0, 0x0A000001, 1)
    frame = (addresses + ip).ljust(frame_bytes, b"\0")
    record = struct.pack("<IIII", 0, 0, frame_bytes, frame_bytes) + frame
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + record * PACKETS)
    return path


def forward(args: argparse.Namespace, capture: Path) -> list[tuple[float, float]]:
    """Packets per second through both pools, pair by pair, of one run."""
    device = ",".join([*[f"rx_pcap={capture}"] * args.queues, "infinite_rx=1"])
    command = [
        *(str(args.build / "skipline-forward"), "--no-pci", "--in-memory", "--no-telemetry"),
        *("-m", "256", "--lcores", args.lcores, "--log-level=*:error"),
        *("-d", "librte_mempool_skipline.so"),
        *("--vdev", f"net_pcap0,{device}", "--vdev", f"net_pcap1,{device}", "--"),
        *("--pool-ops", STANDARD, "--other-ops", STANDARD if args.null else SLICE),
        *("--pairs", str(args.pairs), "--cache", str(args.cache)),
        *(["--free-in-bulk"] if args.free_in_bulk else []),
        *(["--new-order"] if args.new_order else []),
    ]
    environment = {
        "SKIPLINE_SLICE_TABLE": str(args.table),
        "SKIPLINE_SLICE_SLICES": args.slices,
        "SKIPLINE_SLICE_PLACING": "packets" if args.move_packets else "",
        "LD_LIBRARY_PATH": f"{args.build}:{os.environ.get('LD_LIBRARY_PATH', '')}",
    }
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"error: the forwarder does not run:\n{done.stderr}")
    lines = [line.split() for line in done.stdout.splitlines() if not line.startswith("{")]
    # A turn in which the system ran other threads alone says nothing.
    return [(float(standard), float(aware)) for _, standard, aware in lines if float(standard)]


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True, help="where meson built")
    parser.add_argument("--table", type=Path, required=True, help="slice table")
    parser.add_argument("--slices", required=True, help="slices by lcore, such as '1=0;2=4'")
    parser.add_argument("--queues", type=int, default=1, help="polling cores that share the pool")
    parser.add_argument("--lcores", default="0,1", help="EAL's --lcores, main first")
    parser.add_argument("--runs", type=int, default=12, help="processes, each with other memory")
    parser.add_argument("--pairs", type=int, default=40, help="of turns of 10 ms in each run")
    parser.add_argument("--cache", type=int, default=256, help="objects of the per-core cache")
    parser.add_argument(
        "--free-in-bulk", action="store_true", help="instead of singly by the port's driver"
    )
    parser.add_argument(
        "--move-packets", action="store_true", help="one pool for all, whose packets move"
    )
    parser.add_argument(
        "--new-order", action="store_true", help="pools in order of address, as they begin"
    )
    parser.add_argument(
        "--null", action="store_true", help="the standard pool against another of its kind"
    )
    parser.add_argument("--all", action="store_true", help="print every pair")
    parser.add_argument("--frame-bytes", type=int, default=60)
    parser.add_argument("--least", type=float, default=0.0, help="fail below this median")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    args = parse()
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        capture = write_capture(Path(folder) / "packets.pcap", args.frame_bytes)
        for run in range(args.runs):
            of_run = forward(args, capture)
            pairs += of_run
            median = statistics.median(aware / standard for standard, aware in of_run)
            print(f"run {run + 1}: {len(of_run)} pairs, median ratio {median:.3f}", flush=True)
    if args.all:
        print("standard Mpps        other Mpps  ratio")
        for standard, aware in pairs:
            print(f"{standard / 1e6:13.2f}  {aware / 1e6:16.2f}  {aware / standard:5.3f}")
    ratios = [aware / standard for standard, aware in pairs]
    median = statistics.median(ratios)
    low, _, high = statistics.quantiles(ratios, n=4)
    rates = [statistics.median(rate) / 1e6 for rate in zip(*pairs, strict=True)]
    other = "another standard" if args.null else "slice-aware"
    print(
        f"{args.frame_bytes} B frames: standard {rates[0]:.2f}, {other} {rates[1]:.2f} "
        f"million packets per second and core\n"
        f"ratio of {len(ratios)} pairs: median {median:.3f}, quartiles {low:.3f} to {high:.3f}, "
        f"all {min(ratios):.3f} to {max(ratios):.3f}"
    )
    if median < args.least:
        sys.exit(f"error: the median is below {args.least}")


if __name__ == "__main__":
    main()
