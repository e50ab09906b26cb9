"""Workers of a sweep whose runs are given up: does the next sweep get answers of the last one?"""

import sys
from typing import cast

from skipline.sweeps.engine import Engine
from skipline.sweeps.messages import Answer, Event, Ready
from skipline.sweeps.simulate import Chunk
from skipline.sweeps.workers import Workers

# Answers each chunk with the first one that it got, as a worker does that is still busy with it.
BUSY = """
import sys
from multiprocessing.connection import Connection
from skipline.sweeps.messages import Answer, Ready

writer = Connection(int(sys.argv[1]))
writer.send(Ready(1))
first = writer.recv()
while True:
    work = writer.recv() if first.fail_fast else first
    writer.send(Answer(work.number, next(iter(first.pipes)).encode()))
    first = writer.recv()
"""
# Of a second each: a worker starts in a fifth of one.
_ROUNDS = 30


class BusyEngine:
    """An engine whose worker keeps a chunk that is to fail fast until the next one comes."""

    name = "local"
    processes = 1

    @staticmethod
    def command(descriptor: int) -> list[str]:
        return [sys.executable, "-c", BUSY, str(descriptor)]


def wait_for(workers: Workers, kind: type[Event]) -> Event:
    for _ in range(_ROUNDS):
        for event in workers.events(1.0):
            if isinstance(event, kind):
                return event
    raise AssertionError(f"no {kind.__name__}")


def test_runs_that_are_given_up_do_not_answer_for_later_ones() -> None:
    def work(name: str, *, keeps: bool) -> Chunk:
        return Chunk(1, [], {}, {name: b""}, keeps)

    with Workers(cast(Engine, BusyEngine()), 1) as workers:
        wait_for(workers, Ready)
        workers.send(work("given up", keeps=True))
        assert not workers.free()
        workers.give_up()
        wait_for(workers, Ready)
        assert workers.free()
        workers.send(work("wanted", keeps=False))
        assert wait_for(workers, Answer) == Answer(1, b"wanted")


def test_workers_that_simulate_nothing_stay() -> None:
    with Workers(cast(Engine, BusyEngine()), 1) as workers:
        wait_for(workers, Ready)
        before = [process.process.pid for process in workers._processes]
        workers.give_up()
        assert [process.process.pid for process in workers._processes] == before
