"""Described servers at work: what a run or a measurement says, as a server would show it."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

_CPUS = 36
_NIC = "sys/bus/pci/devices/0000:17:00.0"
_TRAFFIC = re.compile(r"\[\[traffic\]\]\n(?:[a-z_]+ = .*\n)+")
_WINDOW_TICKS = 1000


class Load(NamedTuple):
    """What a forwarder on the Gold 6140 does: rates in a second, hit rates in percent."""

    cores: int
    packet_bytes: int
    received: float
    sent: float
    write_lines: float
    write_hits: float
    read_lines: float
    read_hits: float
    dram_reads: float
    dram_writes: float


def expand(binaries: Path, into: Path, load: Load) -> None:
    """Write the tree of a described server that forwards packets past the kernel."""
    subprocess.run([binaries / "fake-machines", "skylake", into], check=True)
    _write(into, f"{_NIC}/net/ens1f0/speed", "100000")
    for reading, busy in (("", 0), ("window/", _WINDOW_TICKS)):
        _write(into, f"{reading}proc/stat", _ticks(load.cores, busy))
    _write(into, f"{_NIC}/iommu_group/type", "identity")
    _write(into, "sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages", "0")
    pages = "sys/devices/system/node/node0/hugepages/hugepages-2048kB"
    _write(into, f"{pages}/free_hugepages", (into / pages / "nr_hugepages").read_text().strip())
    for group in ("", "web/"):
        # All ways for everybody, as in the published measurements.
        _write(into, f"sys/fs/resctrl/{group}schemata", "    L3:0=7ff;1=7ff")
    registers = into / "registers.toml"
    registers.write_text(_registers(registers.read_text(), load))


def _write(tree: Path, path: str, line: str) -> None:
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(f"{line}\n")


def _ticks(cores: int, busy: int) -> str:
    rows = ["cpu 0 0 0 0 0"]
    for cpu in range(_CPUS):
        polls = busy if cpu < cores else 0
        rows.append(f"cpu{cpu} {polls} 0 0 {busy - polls} 0")
    return "\n".join(rows)


def _registers(text: str, load: Load) -> str:
    described = _TRAFFIC.sub("", text)
    # The counters of the memory controller count what DRAM does, not what devices miss.
    for config, quantity in ((0x304, "dram-reads"), (0xC04, "dram-writes")):
        described = _counting(described, config, quantity)
    frames = [load.received, load.received * load.packet_bytes]
    frames += [load.sent, load.sent * load.packet_bytes]
    return f"""{described}
[interface.ens1f0]
pause = [false, false]
merging_offloads = []
frames_per_s = {[round(rate) for rate in frames]}

[[traffic]]
socket = 0
port = "0000:16:00.0"
write_lines_per_s = {round(load.write_lines)}
read_lines_per_s = {round(load.read_lines)}
hit_percent = {round(load.write_hits)}
read_hit_percent = {round(load.read_hits)}
dram_lines_per_s = [{round(load.dram_reads)}, {round(load.dram_writes)}]
"""


def _counting(text: str, config: int, quantity: str) -> str:
    tables = text.split("[[event]]")
    changed = [
        re.sub(r"counts = \[[^\]]*\]", f'counts = ["{quantity}"]', table)
        if re.search(rf"^config = {config}$", table, re.MULTILINE) and "uncore_imc" in table
        else table
        for table in tables
    ]
    assert changed != tables, f"the machine has no event {config:#x} of DRAM"
    return "[[event]]".join(changed)
