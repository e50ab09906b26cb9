"""Runs suites of tests, one after another or beside each other; then the slowest tests and a count.

    python tests/tally.py [--minutes N] [--for-minutes N] -- COMMAND ... -- COMMAND ... ++ COMMAND

A suite behind `++`, one that waits much, runs beside the one before it and is printed after it.
Every suite runs, also after one that failed. With `--minutes` the suite that exceeds this budget is
ended, and it and those after it are named. With `--for-minutes` the suites start over with another
seed until the time is over. The exit code is 0 only if every suite ended well. Tests of Rust that
passed are not printed.
"""

import argparse
import heapq
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import IO

SEED = "PROPTEST_RNG_SEED"
_RUST = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;")
_PYTHON = re.compile(r"^[= ]*(?:\d+ \w+, )*\d+ \w+(?: in \d+\.\d+s)[^=]*=*$")
_RUST_PROGRAM = re.compile(r"^\s+(?:Running (?:unittests )?\S+ \((\S+)\)|Doc-tests (\S+))")
_RUST_BEGINS = re.compile(r"^running \d+ tests?$")
_RUST_TEST = re.compile(r"^test (.+) \.\.\. (ok|FAILED|ignored.*)$")
_SLOWEST = 10
_PART = re.compile(r"(\d+) (\w+)")
_AS = {
    "passed": "passed",
    "xpassed": "failed",
    "failed": "failed",
    "error": "failed",
    "errors": "failed",
    "skipped": "skipped",
    "xfailed": "skipped",
}


def counts_of(line: str) -> Counter[str]:
    """Tests that a closing line of cargo test or pytest counts; none for any other line."""
    rust = _RUST.match(line)
    if rust:
        passed, failed, ignored = map(int, rust.groups())
        return Counter(passed=passed, failed=failed, skipped=ignored)
    counts: Counter[str] = Counter()
    if _PYTHON.match(line):
        for number, word in _PART.findall(line.partition(" in ")[0]):
            if word in _AS:
                counts[_AS[word]] += int(number)
    return counts


def closing_line(counts: Counter[str]) -> str:
    """The count over all suites."""
    return ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "skipped"))


def groups_of(words: Sequence[str]) -> list[list[list[str]]]:
    """Commands that stand between `--`, each with those that run beside it."""
    groups: list[list[list[str]]] = [[[]]]
    for word in words:
        if word == "--":
            groups.append([[]])
        elif word == "++":
            groups[-1].append([])
        else:
            groups[-1][-1].append(word)
    if any(not suite for group in groups[1:] for suite in group):
        raise ValueError("an empty suite: a command stands behind each -- and ++")
    return groups[1:]


class RustTimes:
    """How long each test of Rust took, by when its line came.

    A test program starts its tests in the order of their names, the next one whenever one ends, and
    runs as many at a time as there are processors.
    """

    def __init__(self, at_a_time: int) -> None:
        self._at_a_time = at_a_time
        self._program = ""
        self._begun = 0.0
        self._ended: dict[str, float] = {}
        self.seconds: dict[str, float] = {}

    def read(self, line: str, now: float) -> None:
        """Take a line of cargo or of a test program, which came at this second."""
        if program := _RUST_PROGRAM.match(line):
            self._program = program[2] or _sources(Path(program[1]))
        elif _RUST_BEGINS.match(line):
            self._begun, self._ended = now, {}
        elif test := _RUST_TEST.match(line):
            self._ended[test[1]] = now
        elif _RUST.match(line):
            self._end_program()

    def _end_program(self) -> None:
        processors = [self._begun] * self._at_a_time
        for name in sorted(self._ended):
            begun = heapq.heappop(processors)
            self.seconds[f"{self._program}: {name}"] = max(0.0, self._ended[name] - begun)
            heapq.heappush(processors, self._ended[name])

    def slowest(self, number: int) -> list[str]:
        """Lines for the slowest tests."""
        ranked = sorted(self.seconds.items(), key=lambda item: -item[1])[:number]
        return [f"{seconds:.1f} s {test}" for test, seconds in ranked]


def _at_a_time() -> int:
    """How many tests of Rust run at a time."""
    return int(os.environ.get("RUST_TEST_THREADS") or os.cpu_count() or 1)


def _sources(program: Path) -> str:
    """Folder of a test program's sources, by what cargo writes beside it; else its name."""
    try:
        made_of = program.with_suffix(".d").read_text("utf-8")
    except OSError:
        return program.name
    return Path(made_of.partition(": ")[2].split(" ")[0]).parent.as_posix()


def _pass_on(lines: Iterable[str], out: IO[str], counts: Counter[str], times: RustTimes) -> None:
    for line in lines:
        times.read(line, time.monotonic())
        test = _RUST_TEST.match(line)
        if not test or test[2] == "FAILED":
            out.write(line)
            out.flush()
        counts.update(counts_of(line.rstrip("\n")))


def run_group(
    group: Sequence[Sequence[str]], counts: Counter[str], times: RustTimes, seconds: float | None
) -> list[int | None]:
    """Run suites at once; return their exit codes, None where the time did not suffice."""
    first, *others = group
    outputs = [io.StringIO() for _ in others]
    counted = [Counter[str]() for _ in others]
    rust = RustTimes(_at_a_time())
    running: list[subprocess.Popen[str]] = []
    try:
        with ThreadPoolExecutor(max(1, len(others))) as beside:
            codes = [
                beside.submit(run, suite, out, counts, rust, seconds, running)
                for suite, out, counts in zip(others, outputs, counted, strict=True)
            ]
            try:
                code = run(first, sys.stdout, counts, times, seconds, running)
            except BaseException:
                # Ctrl-C reaches this process alone, and the others would go on to their end.
                for started in running:
                    _end(started)
                raise
    finally:
        for out, more in zip(outputs, counted, strict=True):
            sys.stdout.write(out.getvalue())
            counts.update(more)
        sys.stdout.flush()
    return [code, *(other.result() for other in codes)]


def _end(started: "subprocess.Popen[str]") -> None:
    """Kill a suite and all that it has started."""
    if started.poll() is None:
        os.killpg(started.pid, signal.SIGKILL)


def run(
    suite: Sequence[str],
    out: IO[str],
    counts: Counter[str],
    times: RustTimes,
    seconds: float | None,
    running: list["subprocess.Popen[str]"],
) -> int | None:
    """Run a suite and count its tests; return its exit code, None if the time did not suffice."""
    out.write(f"\n$ {shlex.join(suite)}\n")
    out.flush()
    started = subprocess.Popen(
        suite,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    running.append(started)
    assert started.stdout is not None
    reader = threading.Thread(target=_pass_on, args=(started.stdout, out, counts, times))
    reader.start()
    try:
        return started.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(started)
        started.wait()
        reader.join()


def main(arguments: Sequence[str]) -> int:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=False)
    parser.add_argument("--minutes", type=float, help="end the suite that runs then")
    parser.add_argument("--for-minutes", type=float, help="start over until then")
    parser.add_argument("suites", nargs=argparse.REMAINDER)
    asked = parser.parse_args(arguments)
    groups, counts = groups_of(asked.suites), Counter[str]()
    times = RustTimes(_at_a_time())
    begun = time.monotonic()
    failed: list[str] = []

    def left(minutes: float | None) -> float | None:
        return None if minutes is None else minutes * 60 - (time.monotonic() - begun)

    for again in count():
        if again:
            os.environ[SEED] = str(int(os.environ.get(SEED, "0")) + 1)
        for number, group in enumerate(groups):
            codes = run_group(group, counts, times, left(asked.minutes))
            for suite, code in zip(group, codes, strict=True):
                if code is None:
                    failed.append(f"no time for: {shlex.join(suite)}")
                elif code:
                    failed.append(f"exit code {code}: {shlex.join(suite)}")
            if None in codes:
                missed = [suite for group in groups[number + 1 :] for suite in group]
                failed += [f"no time for: {shlex.join(suite)}" for suite in missed]
                break
        if failed or (left(asked.for_minutes) or 0.0) <= 0.0:
            break
    if slowest := times.slowest(_SLOWEST):
        print("\nslowest tests of Rust:", *slowest, sep="\n")
    minutes, seconds = divmod(round(time.monotonic() - begun), 60)
    print(f"\n{sum(map(len, groups))} suites in {minutes} min {seconds} s")
    print("\n".join(failed), end="\n" if failed else "")
    print(closing_line(counts))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
