"""Operations of a data streaming accelerator (DSA) on buffers: by a device where it pays, else CPU.

>>> from skipline.dsa import Client, Operation
>>> source, destination = bytes(range(256)) * 64, bytearray(16384)
>>> with Client() as client:
...     client.run(Operation.copy(source, destination))
...     job = client.submit(Operation.crc(b"123456789"))
...     hex(job.wait().value)
<Outcome done: device 0 B, CPU 16384 B>
'0xe3069283'

Operations keep their buffers, jobs their operations. What has a job under way leaves its buffers
alone. Linux on x86-64 only: elsewhere the import fails.
"""

import time
from collections.abc import Iterable, Iterator

try:
    from skipline._core import (
        DsaBatchJob,
        DsaClient,
        DsaError,
        DsaJob,
        DsaOperation,
        DsaOutcome,
        DsaTags,
        InputError,
    )
except ImportError as error:  # pragma: no cover
    raise ImportError("skipline.dsa is only available on Linux on x86-64") from error

Client = DsaClient
Operation = DsaOperation
Outcome = DsaOutcome
Job = DsaJob
BatchJob = DsaBatchJob
Tags = DsaTags

__all__ = [
    "BatchJob",
    "Client",
    "DsaError",
    "InputError",
    "Job",
    "Operation",
    "Outcome",
    "Tags",
    "as_ended",
]


def as_ended(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield each job once it has ended, in whatever order they do."""
    left = list(jobs)
    while left:
        ended = [job for job in left if job.has_ended()]
        left = [job for job in left if job not in ended]
        yield from ended
        if not ended:
            time.sleep(0)
