"""The switch and its two guests: how they are started, and what they say at their end."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpdk.machine import cpu_of, lcores
from dpdk.programs import BUILD

SWITCH, GUESTS = BUILD / "skipline-vhost-switch", BUILD / "skipline-vhost-guests"
_HANGS_SECONDS = 300


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    code: int
    out: str
    errors: str

    @property
    def report(self) -> dict[str, Any]:
        """The JSON that it prints last."""
        assert self.out.strip(), self.errors
        said = json.loads(self.out.splitlines()[-1])
        assert isinstance(said, dict)
        return said


@dataclass(frozen=True)
class Exchange:
    """Two guests that send packets to each other."""

    folder: Path
    copy: str = "cpu"
    run: Sequence[str] = ()  # words before the switch, such as skipline-dsa run --
    pairs: int = 1
    switch: Sequence[str] = ()
    guests: Sequence[str] = ()
    devices: str = ""  # more arguments of net_virtio_user

    @staticmethod
    def _prefix(name: str) -> str:
        return f"skipline{os.getpid()}{name}"

    def _eal(self, name: str, cores: str) -> list[str]:
        # Guest memory has to be shared, and is without huge pages, too: a memfd.
        return [
            *("--no-huge", "-m", "256", "--no-pci", "--no-shconf", "--no-telemetry"),
            *("--file-prefix", self._prefix(name), "--lcores", cores),
            *("--log-level", "*:error"),
        ]

    def switch_command(self) -> list[str]:
        """The command line of the switch."""
        sockets = [word for name in "ab" for word in ("--socket", str(self.folder / name))]
        eal = self._eal("switch", lcores(self.pairs))
        return [
            *self.run,
            *(str(SWITCH), *eal, "--", *sockets, "--copy", self.copy),
            *self.switch,
        ]

    def guests_command(self, packets: int) -> list[str]:
        """The command line of the guests."""
        ports = [
            f"net_virtio_user{number},path={self.folder / name},queues={self.pairs}{self.devices}"
            for number, name in enumerate("ab")
        ]
        vdevs = [word for port in ports for word in ("--vdev", port)]
        # Long enough for a machine that does much else.
        idle = ("--idle-seconds", "60")
        counts = ("--packets", str(packets), "--pairs", str(self.pairs), *idle)
        eal = self._eal("guests", f"0@{cpu_of(2)}")
        return [str(GUESTS), *eal, *vdevs, "--", *counts, *self.guests]

    def of(self, packets: int) -> tuple[Ended, Ended]:
        """Let both send packets; what guests and switch say."""
        with subprocess.Popen(
            self.switch_command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as switch:
            try:
                said = _wait_until_it_switches(switch)
                guests = subprocess.run(
                    self.guests_command(packets),
                    capture_output=True,
                    text=True,
                    timeout=_HANGS_SECONDS,
                    check=False,
                )
                out, errors = switch.communicate(timeout=_HANGS_SECONDS)
            finally:
                switch.terminate()  # skipline-dsa passes it on
                self._forget()
        ends = Ended(guests.returncode, guests.stdout, guests.stderr)
        return ends, Ended(switch.returncode, out, said + errors)

    def refusal(self) -> Ended:
        """How a switch ends that does not start."""
        done = subprocess.run(
            self.switch_command(),
            capture_output=True,
            text=True,
            timeout=_HANGS_SECONDS,
            check=False,
        )
        self._forget()
        return Ended(done.returncode, done.stdout, done.stderr)

    def _forget(self) -> None:
        """Remove what EAL leaves behind."""
        for name in ("switch", "guests"):
            shutil.rmtree(f"/var/run/dpdk/{self._prefix(name)}", ignore_errors=True)


def _wait_until_it_switches(switch: subprocess.Popen[str]) -> str:
    assert switch.stderr is not None
    said = ""
    while "switching with" not in said:
        line = switch.stderr.readline()
        assert line, f"the switch does not start: {said}"
        said += line
    return said
