"""Engines that simulate a sweep, and the commands that start their processes."""

import socket
import sys
from importlib.util import find_spec
from typing import NamedTuple

from skipline._core import InputError

_SCHEME = "ray://"
_CONNECT_WITHIN_S = 5.0
KNOWN = "local, ray, ray://HOST:PORT"


class Engine(NamedTuple):
    """An engine: `address` is that of a Ray cluster; `processes` simulate, or hand on."""

    name: str
    address: str
    jobs: int

    @property
    def processes(self) -> int:
        """The number of processes that this engine starts."""
        return self.jobs if self.name == "local" else 1

    def command(self, descriptor: int) -> list[str]:
        """Return the command of one process, which talks over the socket `descriptor`."""
        if self.name == "local":
            return [sys.executable, "-m", "skipline.sweeps.worker", str(descriptor)]
        module = "skipline.sweeps.ray_bridge"
        return [sys.executable, "-m", module, str(descriptor), self.address, str(self.jobs)]


def parse_engine(text: str, jobs: int | None) -> Engine:
    """Return the engine named `text`; InputError if it is not installed, or no cluster answers."""
    import os

    processes = jobs or os.cpu_count() or 1
    if text == "local":
        return Engine("local", "", processes)
    if text != "ray" and not text.startswith(_SCHEME):
        raise InputError(f"--engine '{text}': unknown; known: {KNOWN}")
    if find_spec("ray") is None:
        raise InputError(
            f"--engine {text}: Ray is not installed; pip install 'skipline[ray]', or leave "
            "--engine away: the local engine uses all cores of this machine"
        )
    if text == "ray":
        return Engine("ray", "", processes)
    _require_answer(text)
    return Engine("ray", text, jobs or 0)


def _require_answer(address: str) -> None:
    host, colon, port = address.removeprefix(_SCHEME).rpartition(":")
    if not colon or not host or not port.isdigit():
        raise InputError(f"--engine {address}: write ray://HOST:PORT, such as ray://head:10001")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_WITHIN_S).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"--engine {address}: no cluster answers there ({reason}); start its head with "
            f"`ray start --head --ray-client-server-port={port}`, or leave --engine away"
        ) from None
