"""The measurement file of `skipline-host calibrate`."""

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skipline import _core
from skipline._core import InputError

Role = Literal["fit", "kept"]
Values = Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Field(min_length=1)]
Bytes = Annotated[int, Field(gt=0)]

MEASURED = ".measured.json"
COMPARED = ".compare.html"
_FORMAT = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Processor(_Part):
    """The processor that was measured: its name, and whether the machine is virtual."""

    name: str
    virtual_machine: bool


class Pages(_Part):
    """Pages behind the working sets; latencies of L1D with a page for all lines, and for each."""

    obtained: Literal["reserved", "transparent", "small"]
    dense_ns: float
    sparse_ns: float
    translation_bytes: Bytes


class Kernel(_Part):
    """Shape of the pointer chase: lines of a pair, bytes of a page, pages of a window."""

    pair_lines: Bytes
    page_bytes: Bytes
    window_pages: Bytes


class Chase(_Part):
    """Load latencies of the chase over a working set in ns, one of each pass."""

    working_set_bytes: Bytes
    role: Role
    latency_ns: Values


class Bandwidth(_Part):
    """Bandwidths of streams over an array in GB/s, one number of each pass."""

    array_bytes: Bytes
    read_gbytes_per_s: Values
    write_gbytes_per_s: Values
    copy_gbytes_per_s: Values


class CoreToCore(_Part):
    """Half of a line's round trip between two cores in ns, one number of each pass."""

    latency_ns: Values


class Measurement(_Part):
    """A host's measurement; keys that only people need are not read."""

    format: int
    passes: int
    processor: Processor
    pages: Pages
    kernel: Kernel
    chase: Annotated[list[Chase], Field(min_length=1)]
    bandwidth: list[Bandwidth]
    core_to_core: list[CoreToCore]


def path_beside(platform: Path, ending: str) -> Path:
    """Return the path of what belongs to a platform file, of the given `ending`.

    `skipline-host calibrate` puts what it measured there (MEASURED), and a comparison its page
    (COMPARED). Whatever follows another dot than that of `.toml` is a part of the platform's name.
    """
    name = platform.stem if platform.suffix == ".toml" else platform.name
    return platform.with_name(name + ending)


def read(path: Path) -> Measurement:
    """Read a measurement."""
    remedy = (
        "`skipline-host calibrate` writes it beside the platform file, --measured names another one"
    )
    try:
        text = _core.read_text(path)
    except InputError as error:
        raise InputError(f"{error}; {remedy}") from error
    if text is None:
        raise InputError(f"{path}: cannot be read: no such file; {remedy}")
    try:
        measurement = Measurement.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in fault["loc"])
        where = f"key '{key}': " if key else ""
        raise InputError(
            f"{path}: not a measurement of `skipline-host calibrate`: {where}{fault['msg']}"
        ) from error
    if measurement.format != _FORMAT:
        raise InputError(f"{path}: format {measurement.format}; this version reads {_FORMAT}")
    return measurement


def lower_quartile(values: list[float]) -> float:
    """Return the robust value of a latency: whatever disturbs it makes it longer."""
    return _quantile(values, 0.25)


def upper_quartile(values: list[float]) -> float:
    """Return the robust value of a bandwidth: whatever disturbs it makes it smaller."""
    return _quantile(values, 0.75)


def _quantile(values: list[float], part: float) -> float:
    """Nearest rank, as the host tool counts it."""
    return sorted(values)[math.floor(part * (len(values) - 1) + 0.5)]
