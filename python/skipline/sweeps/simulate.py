"""Simulates points: each becomes a row, also one that fails."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skipline import _core
from skipline._core import InputError, RunError
from skipline.runs import identity

# Rows are in Arrow, which takes long to load: not before a first point is simulated.


class Request(NamedTuple):
    """A run to simulate."""

    question: str
    scenario: str
    settings: list[tuple[str, str]]
    seed: int


class Chunk(NamedTuple):
    """Points that a worker simulates before it answers, and the inputs that they are read from.

    `files` are digests of files on disk, `pipes` what pipes gave. With `fail_fast` a point that
    fails ends the chunk; without, it is a row with its error.
    """

    number: int
    requests: list[Request]
    files: dict[str, str]
    pipes: dict[str, bytes]
    fail_fast: bool = False


ReportProgress = Callable[[float], None]


def chunk(work: Chunk, report: ReportProgress | None = None) -> bytes:
    """Simulate all points of a chunk; `report` is called with how many of them are done.

    InputError if a file is not what the points were planned with.
    """
    from skipline.store import rows

    _core.keep_inputs(work.pipes)
    require_files(work.files)
    done = [
        point(request, _report_after(done_before, report), fail_fast=work.fail_fast)
        for done_before, request in _numbered(work)
    ]
    return rows.pack(done)


def _numbered(work: Chunk) -> Sequence[tuple[int, Request]]:
    return list(enumerate(work.requests))


def _report_after(
    done_before: int, report: ReportProgress | None
) -> Callable[[dict[str, float]], None] | None:
    if report is None:
        return None
    return lambda state: report(done_before + state["fraction"])


def point(
    request: Request,
    progress: Callable[[dict[str, float]], None] | None = None,
    *,
    fail_fast: bool = False,
) -> dict[str, Any]:
    """Simulate one point and return its row."""
    began = time.perf_counter()
    try:
        text = _core.run(request.scenario, request.settings, request.seed, None, progress)
        from skipline.runs import result
        from skipline.store import rows

        found = rows.of_result(result.parse(text, request.scenario))
    except (InputError, RunError) as error:
        if fail_fast:
            raise
        found = {"status": "failed", "error": str(error)}
    return row(request, found, time.perf_counter() - began)


def row(request: Request, found: dict[str, Any], wall_s: float) -> dict[str, Any]:
    """Return the row of a point: the request, and the results `found`."""
    from skipline.store import rows

    return {
        "question": request.question,
        "simulator": identity.simulator(),
        "scenario": request.scenario,
        "settings": json.dumps(request.settings),
        "seed": request.seed,
        "wall_s": wall_s,
        "finished_at": rows.now(),
        "numbers": [],
        **found,
    }


def require_files(files: dict[str, str]) -> None:
    """Refuse to simulate with files that are not those of the plan."""
    for name in identity.changed_files(files):
        what = "has changed since the command began" if Path(name).is_file() else "is not there"
        import socket

        raise InputError(
            f"{name}: this file {what} (on {socket.gethostname()}); its points are not kept; "
            "on a cluster it has to have this path on each machine; run the command again"
        )
