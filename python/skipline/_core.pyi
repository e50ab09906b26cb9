"""The compiled simulator (crates/python)."""

from array import array
from collections.abc import Callable
from os import PathLike
from typing import Literal, final

from typing_extensions import Buffer

__all__ = [
    "DEFAULT_SEED",
    "InputError",
    "Latencies",
    "RunError",
    "SliceMap",
    "builtin_file",
    "builtin_files",
    "check_scenario",
    "half_width_95",
    "host_kernels",
    "metrics",
    "platform",
    "platform_names",
    "resolve_scenario",
    "run",
    "schema",
    "standard_trace",
    "trace",
    "trace_array",
    "trace_standard",
    "version",
]

DEFAULT_SEED: int

class InputError(Exception):
    """Bad input; the message names file, key, value and what is allowed."""

class RunError(Exception):
    """A run that could not finish."""

@final
class SliceMap:
    """The slice function of a part, and for which physical addresses it is established."""

    @staticmethod
    def read(path: str | PathLike[str]) -> SliceMap: ...
    @staticmethod
    def published(name: str) -> SliceMap: ...
    @property
    def part(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def slices(self) -> int: ...
    def slice_of(self, physical_address: int) -> int: ...
    def slices_of(self, physical_addresses: Buffer) -> array[int]: ...

@final
class Latencies:
    """Latencies from cores to slices in core cycles."""

    @staticmethod
    def read(path: str | PathLike[str]) -> Latencies: ...
    @staticmethod
    def modelled(platform: str | PathLike[str]) -> Latencies: ...
    @property
    def part(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def kind(self) -> Literal["measured", "modelled"]: ...
    @property
    def cores(self) -> int: ...
    @property
    def slices(self) -> int: ...
    def cycles(self, core: int, of_slice: int) -> float: ...
    def nearest(self, core: int) -> list[int]: ...
    def shared(self, cores: list[int]) -> int: ...
    def to_toml(self) -> str: ...

def run(
    scenario: str | PathLike[str],
    overrides: list[tuple[str, str]],
    seed: int | None = None,
    trace_packet: int | None = None,
    progress: Callable[[dict[str, float]], None] | None = None,
    *,
    trace_line: int | None = None,
    trace_descriptor: int | None = None,
    miss_kinds: bool = False,
) -> str: ...
def trace(
    trace: str | PathLike[str],
    machine: str | PathLike[str],
    trace_format: str | None = None,
    miss_kinds: bool = False,
    seed: int | None = None,
    progress: Callable[[int, float | None], None] | None = None,
    *,
    timed: bool = False,
) -> str: ...
def trace_standard(
    name: str,
    machine: str | PathLike[str],
    miss_kinds: bool = False,
    seed: int | None = None,
    progress: Callable[[int, float | None], None] | None = None,
    *,
    timed: bool = False,
) -> str: ...
def trace_array(
    addresses: Buffer,
    machine: str | PathLike[str],
    kinds: Buffer | None = None,
    *,
    of_lines: bool = False,
    miss_kinds: bool = False,
    seed: int | None = None,
    progress: Callable[[int, float | None], None] | None = None,
    timed: bool = False,
) -> str: ...
def standard_trace(name: str) -> bytes: ...
def host_kernels(
    machine: str | PathLike[str],
    kernels: str,
    seed: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> str: ...
def check_scenario(scenario: str | PathLike[str], overrides: list[tuple[str, str]]) -> str: ...
def resolve_scenario(
    scenario: str | PathLike[str], overrides: list[tuple[str, str]]
) -> tuple[str, list[str]]: ...
def platform_names() -> list[str]: ...
def platform(
    name_or_path: str | PathLike[str], named_in: str | PathLike[str] | None = None
) -> str: ...
def schema(kind: str) -> str: ...
def metrics() -> str: ...
def builtin_file(relative_path: str) -> str | None: ...
def builtin_files() -> list[str]: ...
def half_width_95(values: list[float]) -> float | None: ...
def version() -> str: ...
