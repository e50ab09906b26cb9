"""The process that hands chunks to Ray: whatever happens to Ray, the writer lives on.

Ray ends its driver when its head is gone for long; this process is that driver.
"""

import queue
import sys
from multiprocessing.connection import Connection
from typing import Any

from skipline.runs import identity
from skipline.sweeps.messages import Answer, Ready, Refusal
from skipline.sweeps.simulate import Chunk, chunk
from skipline.sweeps.worker import read_chunks

# Chunks that wait beside each that is simulated, so that no processor waits for this process.
_AHEAD = 2
_POLL_S = 0.05


def _serve(connection: Connection, address: str, jobs: int) -> None:
    import ray

    chunks = read_chunks(connection)
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address:
            ray.init(address, **options)
        else:
            # Never a cluster of another user that happens to run here.
            ray.init("local", num_cpus=jobs, include_dashboard=False, **options)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        where = address or "on this machine"
        connection.send(Refusal(f"--engine ray: no cluster {where}: {_last_line(error)}"))
        return
    processors = int(ray.cluster_resources().get("CPU", 1))
    simulate = ray.remote(max_retries=0)(_remote)
    connection.send(Ready(_AHEAD * (min(jobs, processors) if jobs else processors)))
    running: dict[Any, int] = {}
    while True:
        for work in _waiting(chunks, block=not running):
            running[simulate.remote(work, identity.simulator())] = work.number
        finished, _ = ray.wait(list(running), timeout=_POLL_S)
        for reference in finished:
            _answer(connection, running.pop(reference), reference)


def _waiting(chunks: "queue.SimpleQueue[Chunk]", *, block: bool) -> list[Chunk]:
    found = [chunks.get()] if block else []
    while not chunks.empty():
        found.append(chunks.get())
    return found


def _remote(work: Chunk, simulator: str) -> bytes | str:
    """Simulate a chunk on a machine of the cluster; a text says why it cannot."""
    import socket

    from skipline._core import InputError

    if identity.simulator() != simulator:
        return (
            f"Skipline on {socket.gethostname()} is another build than here; install the same "
            "wheel on each machine of the cluster"
        )
    try:
        return chunk(work)
    except InputError as error:
        return str(error)


def _answer(connection: Connection, number: int, reference: Any) -> None:
    import ray

    try:
        found = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        connection.send(Refusal(f"a worker of Ray: {_last_line(error)}"))
        return
    except ray.exceptions.RayError:  # the worker, or its machine, is gone
        connection.send(Answer(number, b""))
        return
    connection.send(Refusal(found) if isinstance(found, str) else Answer(number, found))


def _last_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[-1]


if __name__ == "__main__":
    try:
        _serve(Connection(int(sys.argv[1])), sys.argv[2], int(sys.argv[3]))
    except BrokenPipeError:  # the parent is gone
        sys.exit(0)
