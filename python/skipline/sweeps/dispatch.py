"""Decides who simulates which points next; knows neither processes nor a clock.

Chunks are as long as the points so far suggest, shorter towards the end so that all workers end
together. Points of a worker that died are handed out again one by one, first of all.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Work that is lost at most when a worker dies, against what it costs to ask for it.
_CHUNK_S = 1.0
MOST_IN_CHUNK = 64
# A point whose worker dies so often, with no other point beside it, is given up.
MOST_DEATHS = 5


class ChunkPoints(NamedTuple):
    """Points that were handed out together."""

    number: int
    points: list[int]


class Dispatcher:
    """Hands out the points 0 to `points` - 1, up to `largest_chunk` of them together."""

    def __init__(self, points: int, slots: int, largest_chunk: int = MOST_IN_CHUNK) -> None:
        self._largest_chunk = largest_chunk
        self._waiting = deque(range(points))
        self._again: deque[int] = deque()
        self._slots = max(1, slots)
        self._running: dict[int, list[int]] = {}
        self._deaths: dict[int, int] = {}
        self._next = 0
        self._measured_s = 0.0
        self._measured = 0

    @property
    def done(self) -> bool:
        """Whether nothing is waiting or handed out."""
        return not (self._waiting or self._again or self._running)

    def add_slots(self, slots: int) -> None:
        """Change the number of chunks that are simulated at a time, by `slots`."""
        self._slots = max(1, self._slots + slots)

    def take(self) -> ChunkPoints | None:
        """Hand out points; None if none is waiting."""
        if self._again:
            points = [self._again.popleft()]
        else:
            size = self._size()
            points = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
        if not points:
            return None
        self._next += 1
        self._running[self._next] = points
        return ChunkPoints(self._next, points)

    def _size(self) -> int:
        if not self._measured:
            return 1
        by_time = int(_CHUNK_S / max(self._measured_s / self._measured, 1e-6))
        by_rest = len(self._waiting) // (2 * self._slots)
        return max(1, min(by_time, by_rest, self._largest_chunk))

    def points(self, number: int) -> list[int]:
        """Return the points of a chunk that is handed out, none if it is not."""
        return self._running.get(number, [])

    def finish(self, number: int, wall_s: Iterable[float]) -> None:
        """Take note of a chunk that is done, and how long each of its points took."""
        self._running.pop(number, None)
        for one in wall_s:
            self._measured_s += one
            self._measured += 1

    def put_back(self, number: int) -> None:
        """Take back a chunk that its worker had not begun when it died."""
        self._again.extend(self._running.pop(number, []))

    def record_death(self, number: int) -> list[int]:
        """Take back a chunk whose worker died at it; return its points if they are given up."""
        points = self._running.pop(number, [])
        if len(points) == 1:
            (point,) = points
            self._deaths[point] = self._deaths.get(point, 0) + 1
            if self._deaths[point] >= MOST_DEATHS:
                return points
        self._again.extend(points)
        return []


def makespan_s(times_s: Sequence[float], workers: int, overhead_s: float = 0.0) -> float:
    """Return how long points of these times take on so many workers, as a simulation of `take`.

    `overhead_s` is what each chunk costs beside its points.
    """
    dispatcher = Dispatcher(len(times_s), workers)
    busy: list[tuple[float, int, list[float]]] = []
    now = 0.0
    idle = workers
    while True:
        while idle and (chunk := dispatcher.take()):
            own = [times_s[point] for point in chunk.points]
            heapq.heappush(busy, (now + overhead_s + sum(own), chunk.number, own))
            idle -= 1
        if not busy:
            return now
        now, number, own = heapq.heappop(busy)
        dispatcher.finish(number, own)
        idle += 1
