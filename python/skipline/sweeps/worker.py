"""A worker process: simulates chunks that it reads from a socket, one at a time.

Its parent may kill it at any time, and it ends by itself when its parent is gone.
"""

import os
import queue
import sys
import threading
import time
from multiprocessing.connection import Connection

from skipline._core import InputError
from skipline.sweeps.messages import Answer, ChunkProgress, Ready, Refusal
from skipline.sweeps.simulate import Chunk, chunk

_REPORT_EVERY_S = 0.25
# One that is simulated, and one that waits, so that the worker never does.
_CHUNKS = 2


def read_chunks(connection: Connection) -> "queue.SimpleQueue[Chunk]":
    """Read chunks in the background; the process ends when the writer has gone."""
    chunks: queue.SimpleQueue[Chunk] = queue.SimpleQueue()

    def read() -> None:
        try:
            while True:
                chunks.put(connection.recv())
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return chunks


def _serve(connection: Connection) -> None:
    chunks = read_chunks(connection)
    connection.send(Ready(_CHUNKS))
    while True:
        work = chunks.get()
        last = time.monotonic()

        def report(done: float) -> None:
            nonlocal last
            if time.monotonic() - last >= _REPORT_EVERY_S:
                last = time.monotonic()
                connection.send(ChunkProgress(work.number, done))  # noqa: B023 - called in this turn only

        try:
            connection.send(Answer(work.number, chunk(work, report)))
        except InputError as error:
            connection.send(Refusal(str(error)))


if __name__ == "__main__":
    try:
        _serve(Connection(int(sys.argv[1])))
    except BrokenPipeError:  # the parent is gone
        sys.exit(0)
