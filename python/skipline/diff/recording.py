"""A recording of `skipline-host monitor --format json` as a side of a comparison.

Each window is a run of its own; its number lies below zero, so that it is never paired with a seed.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, Field, ValidationError

from skipline import _core, resources
from skipline._core import InputError
from skipline.diff.side import LINE_RATES, SINGLE, Figure, Run, Side

# How each line of that output begins; a result of a run goes on with its scenario.
_BEGIN = b'{"schema_version"'
_BEGIN_OF_RESULT = re.compile(rb'\{"schema_version"\s*:\s*\d+\s*,\s*"scenario"')
_LOOKED_AT_BYTES = 64
# A window a second for a week.
_MOST_BYTES = 1 << 30
_UNITS = {
    **dict.fromkeys(LINE_RATES, "1/s"),
    "pcie_write_hit_rate": "percent",
    "pcie_read_hit_rate": "percent",
    "dram_read_gbytes_per_s": "GB/s",
    "dram_write_gbytes_per_s": "GB/s",
}


_Count = Annotated[int, Field(ge=0)]
_Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _Lines(BaseModel):
    """Lines of devices that were, and were not, in the LLC."""

    hits: _Count
    misses: _Count


class _Counted(BaseModel):
    """The counts of a socket in a window; None where it could not be counted."""

    socket: int
    pcie_write: _Lines | None
    pcie_read: _Lines | None
    dram_read_bytes_per_s: _Rate | None
    dram_write_bytes_per_s: _Rate | None


class _Sample(BaseModel):
    """A window of a recording, with the counts that a comparison needs."""

    time_unix_s: _Rate
    window_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    sockets: list[_Counted]


class _Window(NamedTuple):
    ended_unix_us: int
    run: Run


def begins(text: str) -> bool:
    """Return whether a text begins as the output of the monitor does."""
    return _is_window(text[:_LOOKED_AT_BYTES].encode(errors="replace"))


def is_recording(file: Path) -> bool:
    """Return whether a file holds windows of the monitor; False if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return _is_window(opened.read(_LOOKED_AT_BYTES))
    except OSError:
        return False


def _is_window(begin: bytes) -> bool:
    return begin.startswith(_BEGIN) and not _BEGIN_OF_RESULT.match(begin)


def of_recording(path: str, socket: int | None) -> Side:
    """Read what was counted at a socket; by default at the one whose devices wrote most lines.

    InputError if the file holds something else, or no counters of that socket.
    """
    samples = _samples(path)
    chosen = _busiest(samples) if socket is None else socket
    windows = [window for one in samples if (window := _window(one, chosen)) and window.run]
    if not windows:
        sockets = sorted({one.socket for sample in samples for one in sample.sockets})
        if chosen not in sockets:
            raise InputError(f"{path}: socket {chosen} not found; sockets: {sockets}")
        raise InputError(
            f"{path}: no hits, misses or bandwidth of socket {chosen}: `skipline-host doctor` "
            "explains why they cannot be counted"
        )
    origin = {"socket": str(chosen), "windows": str(len(windows))}
    runs = {-one.ended_unix_us: one.run for one in windows}
    return Side(path, {SINGLE: runs}, _UNITS, None, origin, is_store=False)


def _samples(path: str) -> list[_Sample]:
    samples = []
    for number, line in enumerate(_lines_of(path), start=1):
        try:
            samples.append(_Sample.model_validate_json(line))
        except ValidationError as error:
            raise InputError(
                f"{path}: line {number}: not a window of `skipline-host monitor --format json`"
            ) from error
    return samples


def _lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a recording, which in a file may be longer than other texts."""
    if _core.is_pipe(path):
        yield from resources.read_text(path).splitlines()
        return
    try:
        with Path(path).open(encoding="utf-8") as file:
            # One that is being written grows while it is read.
            _require_less(path, os.fstat(file.fileno()).st_size)
            read = 0
            for line in file:
                read += len(line.encode())
                _require_less(path, read)
                yield line
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error


def _require_less(path: str, read: int) -> None:
    if read > _MOST_BYTES:
        # The first line of what is left begins in its middle.
        raise InputError(
            f"{path}: longer than {_MOST_BYTES >> 20} MiB; keep its end: "
            f"`tail -c {_MOST_BYTES} {path} | tail -n +2 > NEW`"
        )


def _busiest(samples: list[_Sample]) -> int:
    lines: dict[int, int] = {}
    for one in (socket for sample in samples for socket in sample.sockets):
        lines[one.socket] = lines.get(one.socket, 0) + _lines(one.pcie_write)
    return max(lines, key=lambda socket: (lines[socket], -socket), default=0)


def _lines(counted: _Lines | None) -> int:
    return 0 if counted is None else counted.hits + counted.misses


def _window(sample: _Sample, socket: int) -> _Window | None:
    for one in sample.sockets:
        if one.socket == socket:
            return _Window(round(1e6 * sample.time_unix_s), _run(one, sample.window_ms / 1000))
    return None


def _run(counted: _Counted, window_s: float) -> Run:
    run: Run = {}
    for kind, lines in (("write", counted.pcie_write), ("read", counted.pcie_read)):
        if lines is None:
            continue
        run[f"pcie_{kind}_lines_per_s"] = Figure(_lines(lines) / window_s, None)
        if _lines(lines):
            run[f"pcie_{kind}_hit_rate"] = Figure(100 * lines.hits / _lines(lines), None)
    for kind, bytes_per_s in (
        ("read", counted.dram_read_bytes_per_s),
        ("write", counted.dram_write_bytes_per_s),
    ):
        if bytes_per_s is not None:
            run[f"dram_{kind}_gbytes_per_s"] = Figure(bytes_per_s / 1e9, None)
    return run
