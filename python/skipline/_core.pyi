"""The compiled simulator (crates/sim/python)."""

import sys
from array import array
from collections.abc import Callable, Sequence
from os import PathLike
from types import TracebackType
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
    "explorer_fact",
    "explorer_run",
    "half_width_95",
    "host_kernels",
    "is_pipe",
    "keep_inputs",
    "kept_input",
    "kept_inputs",
    "metrics",
    "platform",
    "platform_names",
    "read_text",
    "resolve_scenario",
    "run",
    "schema",
    "standard_trace",
    "store_checksum",
    "testbed",
    "testbed_names",
    "trace",
    "trace_array",
    "trace_standard",
    "version",
]

if sys.platform == "linux":
    __all__ += [
        "DsaBatchJob",
        "DsaClient",
        "DsaError",
        "DsaJob",
        "DsaOperation",
        "DsaOutcome",
        "DsaTags",
    ]

DEFAULT_SEED: int

class InputError(Exception):
    """Bad input; the message names file, key, value and what is allowed."""

class RunError(Exception):
    """A run that could not finish."""

@final
class SliceMap:
    """The slice function of a CPU model, and the physical addresses for which it is established."""

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
    resolved: Callable[[], object] | None = None,
    perfetto_window: tuple[int, int] | None = None,
    perfetto: Callable[[bytes, int, bool], object] | None = None,
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
def testbed_names() -> list[str]: ...
def testbed(name_or_path: str | PathLike[str]) -> str: ...
def schema(kind: str) -> str: ...
def metrics() -> str: ...
def explorer_run(request: str, report: Callable[[str], bool]) -> None: ...
def explorer_fact(name: str, argument: str) -> str | None: ...
def read_text(path: str | PathLike[str], *, keys: bool = False) -> str | None: ...
def is_pipe(path: str | PathLike[str]) -> bool: ...
def kept_input(path: str | PathLike[str]) -> bytes | None: ...
def kept_inputs() -> dict[str, bytes]: ...
def keep_inputs(by_path: dict[str, bytes]) -> None: ...
def builtin_file(relative_path: str) -> str | None: ...
def builtin_files() -> list[str]: ...
def store_checksum(content: bytes) -> int: ...
def half_width_95(values: list[float]) -> float | None: ...
def version() -> str: ...

if sys.platform == "linux":
    class DsaError(OSError):
        """An operation that failed: errno, and a sentence for people."""

    @final
    class DsaOutcome:
        """The outcome of an operation, and how many bytes a device and the CPU processed."""

        @property
        def answer(
            self,
        ) -> Literal["done", "equal", "differs", "crc", "delta", "protection"]: ...
        @property
        def value(self) -> int | None: ...
        @property
        def is_cut(self) -> bool: ...
        @property
        def dif_status(self) -> int: ...
        @property
        def device_bytes(self) -> int: ...
        @property
        def cpu_bytes(self) -> int: ...
        @property
        def record(self) -> bytes: ...

    @final
    class DsaTags:
        """Tags of protection information, and flags as the specification of DSA has them."""

        def __new__(
            cls, reference: int = 0, application: int = 0, mask: int = 0, flags: int = 0
        ) -> DsaTags: ...

    @final
    class DsaOperation:
        """An operation and its buffers."""

        @staticmethod
        def copy(source: Buffer, destination: Buffer) -> DsaOperation: ...
        @staticmethod
        def fill(destination: Buffer, pattern: int, *, wide: bool = False) -> DsaOperation: ...
        @staticmethod
        def compare(first: Buffer, second: Buffer) -> DsaOperation: ...
        @staticmethod
        def compare_pattern(source: Buffer, pattern: int) -> DsaOperation: ...
        @staticmethod
        def dualcast(source: Buffer, first: Buffer, second: Buffer) -> DsaOperation: ...
        @staticmethod
        def create_delta(original: Buffer, changed: Buffer, record: Buffer) -> DsaOperation: ...
        @staticmethod
        def apply_delta(record: Buffer, destination: Buffer) -> DsaOperation: ...
        @staticmethod
        def crc(
            source: Buffer,
            seed: int = 0,
            *,
            wide: bool = False,
            bypass_inversion: bool = False,
            bypass_reflection: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def copy_crc(
            source: Buffer,
            destination: Buffer,
            seed: int = 0,
            *,
            wide: bool = False,
            bypass_inversion: bool = False,
            bypass_reflection: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def dif_check(
            source: Buffer,
            tags: DsaTags,
            *,
            block: int = 512,
            seed_ones: bool = False,
            inverts_guard: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def dif_insert(
            source: Buffer,
            destination: Buffer,
            tags: DsaTags,
            *,
            block: int = 512,
            seed_ones: bool = False,
            inverts_guard: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def dif_strip(
            source: Buffer,
            destination: Buffer,
            tags: DsaTags,
            *,
            block: int = 512,
            seed_ones: bool = False,
            inverts_guard: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def dif_update(
            source: Buffer,
            destination: Buffer,
            source_tags: DsaTags,
            destination_tags: DsaTags,
            *,
            block: int = 512,
            seed_ones: bool = False,
            inverts_guard: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def dix_generate(
            source: Buffer,
            destination: Buffer,
            tags: DsaTags,
            *,
            block: int = 512,
            seed_ones: bool = False,
            inverts_guard: bool = False,
        ) -> DsaOperation: ...
        @staticmethod
        def flush(source: Buffer) -> DsaOperation: ...
        def to_cache(self) -> DsaOperation: ...
        @property
        def name(self) -> str: ...
        @property
        def bytes(self) -> int: ...

    @final
    class DsaJob:
        """An operation that was submitted. Its buffers belong to the device until it has ended."""

        def has_ended(self) -> bool: ...
        def poll(self) -> DsaOutcome | None: ...
        def wait(self, timeout_s: float | None = None) -> DsaOutcome: ...

    @final
    class DsaBatchJob:
        """A list of operations that was submitted as one batch."""

        def has_ended(self) -> bool: ...
        def poll(self) -> list[DsaOutcome | DsaError] | None: ...
        def wait(self, timeout_s: float | None = None) -> list[DsaOutcome | DsaError]: ...

    @final
    class DsaClient:
        """Runs operations on devices and the CPU. Threads may share a client."""

        def __new__(
            cls,
            queues: Sequence[str] | None = None,
            *,
            thresholds: str | PathLike[str] | None = None,
            synchronous_bytes: int | None = None,
            asynchronous_bytes: int | None = None,
            submission: Literal["automatic", "instruction", "write"] = "automatic",
            wait: Literal["poll", "line"] = "poll",
            environment: bool = True,
        ) -> DsaClient: ...
        def run(
            self,
            operation: DsaOperation,
            path: Literal["automatic", "device", "cpu"] = "automatic",
        ) -> DsaOutcome: ...
        def submit(
            self,
            operation: DsaOperation,
            path: Literal["automatic", "device", "cpu"] = "automatic",
        ) -> DsaJob: ...
        def submit_batch(
            self,
            operations: Sequence[DsaOperation],
            path: Literal["automatic", "device", "cpu"] = "automatic",
            *,
            behind_fence: Sequence[int] | None = None,
        ) -> DsaBatchJob: ...
        def queues(self) -> list[dict[str, str | int | None]]: ...
        def left_out(self) -> list[str]: ...
        def statistics(self) -> dict[str, dict[str, tuple[int, int]] | int]: ...
        def thresholds(self) -> dict[str, tuple[int, int]]: ...
        def close(self) -> None: ...
        def __enter__(self) -> DsaClient: ...
        def __exit__(
            self,
            kind: type[BaseException] | None,
            error: BaseException | None,
            traceback: TracebackType | None,
            /,
        ) -> None: ...
