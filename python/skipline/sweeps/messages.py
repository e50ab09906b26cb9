"""Messages of workers to the writer."""

from typing import NamedTuple


class Ready(NamedTuple):
    """The process can take so many chunks at a time."""

    slots: int


class ChunkProgress(NamedTuple):
    """The number of points of a chunk that are done, with the share of the one in progress."""

    number: int
    done: float


class Answer(NamedTuple):
    """The rows of a chunk, packed."""

    number: int
    packed: bytes


class Refusal(NamedTuple):
    """Why the sweep cannot go on."""

    message: str


class WorkerDeath(NamedTuple):
    """A process has ended; `numbers` are the chunks that it had."""

    numbers: list[int]
    slots: int


Event = Ready | ChunkProgress | Answer | Refusal | WorkerDeath
