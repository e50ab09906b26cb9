"""Valgrind's tools: lackey tells what a program touches, cachegrind simulates caches for it.

Both run the program on Valgrind's own address layout, with the same environment and streams, so
that it touches the same addresses under both.
"""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parity.referee import Level
from parity.traces import LINE_BYTES, Trace, data_only, with_loads_for_stores

PROGRAMS = Path(__file__).parent / "programs"
# The programs' entry and exit are written for Linux on x86-64.
SUPPORTED = (platform.system(), platform.machine()) == ("Linux", "x86_64")
AVAILABLE = SUPPORTED and all(shutil.which(tool) for tool in ("valgrind", "gcc"))
NEEDS = "needs Linux on x86-64 and the packages valgrind and gcc"
COMPILER = [
    *("gcc", "-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror"),
    *("-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-no-pie"),
    # Whatever would touch more than a word at a time, or hidden state.
    *("-mno-sse", "-fno-stack-protector", "-fcf-protection=none"),
]
# Those of this folder; none of their references straddles two lines.
OWN_PROGRAMS = ("quicksort", "hash_table", "matrix", "linked_list", "interpreter")
# Those of the system, with their arguments in front of a file of numbers.
# Left to itself, sort sizes its buffer by the memory that is free at the moment.
SYSTEM_PROGRAMS = {"sort": ("-n", "--buffer-size=1M"), "gzip": ("-c",)}


@dataclass(frozen=True)
class Program:
    """A command that does the same each time, run in `directory`."""

    arguments: tuple[str, ...]
    directory: Path

    def trace(self, path: Path) -> Trace:
        """Everything that it touches."""
        self._under("lackey", path, "--trace-mem=yes", "--basic-counts=no")
        return Trace(path, "lackey")

    def cachegrind(self, i1: Level, d1: Level, ll: Level) -> dict[str, int]:
        """The events that cachegrind counts over its whole run, by name."""
        out = self.directory / "cachegrind.out"
        caches = (f"--{level.name}={_shape(level)}" for level in (i1, d1, ll))
        log = self.directory / "cachegrind.log"
        self._under("cachegrind", log, "--cache-sim=yes", f"--cachegrind-out-file={out}", *caches)
        fields = dict(line.split(":", 1) for line in out.read_text().splitlines() if ": " in line)
        counts = map(int, fields["summary"].split())
        return dict(zip(fields["events"].split(), counts, strict=True))

    def _under(self, tool: str, log: Path, *options: str) -> None:
        valgrind = shutil.which("valgrind") or "valgrind"
        command = [valgrind, f"--tool={tool}", f"--log-file={log}", *options, *self.arguments]
        done = subprocess.run(
            command,
            cwd=self.directory,
            env={"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}{log.read_text()[-2000:]}"


@dataclass(frozen=True)
class Traced:
    """A program and everything that it touches."""

    program: Program
    trace: Trace

    @cached_property
    def loads(self) -> Trace:
        """The same with loads instead of stores."""
        return with_loads_for_stores(self.trace, self.trace.path.with_stem("loads"))

    @cached_property
    def data(self) -> Trace:
        """The same without instruction fetches."""
        return data_only(self.trace, self.trace.path.with_stem("data"))


def compiled(name: str, directory: Path) -> Program:
    """One of this folder."""
    program = directory / name
    source = PROGRAMS / f"{name}.c"
    subprocess.run([*COMPILER, "-o", program, source], check=True)
    return Program((str(program),), directory)


def of_the_system(name: str, directory: Path) -> Program:
    """One that is there, at work on a file of numbers."""
    numbers = "".join(f"{n * 7919 % 10_007}\n" for n in range(40))
    (directory / "numbers").write_text(numbers)
    path = shutil.which(name)
    assert path is not None
    return Program((path, *SYSTEM_PROGRAMS[name], "numbers"), directory)


def _shape(level: Level) -> str:
    return f"{level.bytes},{level.ways},{LINE_BYTES}"
