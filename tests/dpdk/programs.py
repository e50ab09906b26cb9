"""The programs that the tests run: the repository's forwarder and DPDK's own testpmd."""

import csv
import json
import os
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from command_line import REPOSITORY
from dpdk.machine import lcores

BUILD = REPOSITORY / "native/dpdk/build"
SLICE_POOL = "skipline_slice"
STANDARD_POOL = "ring_mp_mc"


@dataclass(frozen=True)
class Eal:
    """How a program of DPDK is started."""

    devices: list[str]
    environment: dict[str, str]
    workers: int = 1
    more: list[str] = field(default_factory=list)

    def command(self, program: str, *options: str) -> list[str]:
        """The command line; drivers are found by the loader's path, not by their path."""
        drivers = ["librte_mempool_skipline.so", "librte_skipline_probe.so"]
        return [
            *(program, "--no-pci", "--in-memory", "-m", "256", "--lcores", lcores(self.workers)),
            *(part for driver in drivers for part in ("-d", driver)),
            *(part for device in self.devices for part in ("--vdev", device)),
            *(*self.more, "--", *options),
        ]

    def start(self, program: str, *options: str) -> subprocess.Popen[str]:
        """Start a program whose input and output are piped."""
        mine = {"LD_LIBRARY_PATH": f"{BUILD}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        return subprocess.Popen(
            self.command(program, *options),
            env=os.environ | mine | self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@dataclass(frozen=True)
class Forwarded:
    """What the forwarder says at its end."""

    received: int
    sent: int


def start_forwarder(eal: Eal, pool: str, placements: Path, *options: str) -> subprocess.Popen[str]:
    """Start the forwarder and wait until it polls; it ends when nothing arrives for a while."""
    named = ["--pool-ops", pool, "--placements", str(placements), "--wait-for-room", *options]
    forwarder = eal.start(str(BUILD / "skipline-forward"), *named)
    assert forwarder.stderr is not None
    said = ""
    while "forwarding with" not in said:
        line = forwarder.stderr.readline()
        assert line, f"the forwarder does not start: {said}"
        said += line
    return forwarder


def finish(forwarder: subprocess.Popen[str], timeout_seconds: int = 240) -> Forwarded:
    """Wait for the forwarder's end."""
    out, err = forwarder.communicate(timeout=timeout_seconds)
    assert forwarder.returncode == 0, err
    said = json.loads(out.splitlines()[-1])
    return Forwarded(said["received"], said["sent"])


def read_placements(path: Path, slice_of: Callable[[int], int]) -> dict[int, Counter[int]]:
    """Received packets by polling core and slice of their header line."""
    placements: dict[int, Counter[int]] = {}
    with path.open() as file:
        for row in csv.DictReader(file):
            of_core = placements.setdefault(int(row["lcore"]), Counter())
            of_core[slice_of(int(row["physical_address"]))] += int(row["packets"])
    return placements


class Testpmd:
    """DPDK's test application as the distribution ships it; its prompt and its telemetry."""

    __test__ = False  # pytest would take it for a test, by its name

    def __init__(self, process: subprocess.Popen[str], socket_path: Path) -> None:
        self.process = process
        self.telemetry = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.telemetry.connect(str(socket_path))
                break
            except OSError:
                running = process.poll() is None and time.monotonic() < deadline
                assert running, process.communicate(input="quit\n")[1]
                time.sleep(0.05)
        self.telemetry.recv(4096)

    def tell(self, *commands: str) -> None:
        """Type commands at the prompt."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n".join([*commands, ""]))
        self.process.stdin.flush()

    def ask(self, question: str) -> dict[str, object]:
        """Ask by telemetry."""
        self.telemetry.send(question.encode())
        answer = json.loads(self.telemetry.recv(1 << 16))
        assert isinstance(answer, dict)
        return answer

    def wait_for_ports(self, count: int) -> None:
        """Wait until all ports are started: telemetry answers earlier."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            states = [self.ask(f"/ethdev/info,{port}")["/ethdev/info"] for port in range(count)]
            if all(isinstance(state, dict) and state.get("dev_started") == 1 for state in states):
                return
            time.sleep(0.05)
        raise AssertionError("the ports do not start")

    def wait_for_packets(self, port: int, packets: int, counter: str = "opackets") -> None:
        """Wait until a port has sent (or received) as many."""
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline:
            stats = self.ask(f"/ethdev/stats,{port}")["/ethdev/stats"]
            if isinstance(stats, dict) and stats[counter] >= packets:
                return
            time.sleep(0.1)
        raise AssertionError(f"{counter} of port {port} stay below {packets}: {stats}")


@contextmanager
def run_testpmd(eal: Eal, pool: str, *options: str) -> Iterator[Testpmd]:
    """Run testpmd, not forwarding yet; it ends with the block."""
    prefix = f"skipline{os.getpid()}"
    named = ["--file-prefix", prefix, "--mbuf-pool-ops-name", pool]
    process = Eal(eal.devices, eal.environment, eal.workers, [*eal.more, *named]).start(
        "dpdk-testpmd", "-i", "--no-flush-rx", "--total-num-mbufs=16384", *options
    )
    try:
        application = Testpmd(process, Path(f"/var/run/dpdk/{prefix}/dpdk_telemetry.v2"))
        with application.telemetry:
            yield application
        process.communicate(input="stop\nquit\n", timeout=60)
    finally:
        process.kill()
        process.wait()
