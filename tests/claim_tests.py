"""Runs the tests that show claims, and keeps what each said: `skipline evidence` judges by it.

    python tests/claim_tests.py -- CARGO_TEST... -- CARGO_TEST...

Behind each `--` stands a `cargo test` whose crates are built together, as `make test` builds them.
The tests are those that experiments/tests.toml names. Ends with 1 if one fails, is ignored or is
not found; what the others said is kept all the same.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import tally
from skipline.claims import pointers, recorded_tests
from skipline.claims.recorded_tests import TestOutcome

EXPERIMENTS = "experiments"
# What pytest runs in processes of its own, as `make test` does.
_ALONE = "tests/dpdk/"
_RUST = re.compile(r"^test (\S+) \.\.\. (ok|FAILED)")


class Binary(NamedTuple):
    """A test program: the folder of its crate, where its sources lie in there, and its path."""

    crate: str
    target: str
    executable: str

    def has(self, test: str) -> bool:
        """Tell whether it contains a test, FILE::FUNCTION."""
        file, place = test.partition("::")[0], f"{self.crate}/{self.target}"
        return file == f"{place}.rs" or file.startswith(f"{place}/")


def main(words: Sequence[str]) -> int:
    """Run them all and write the record."""
    root = Path.cwd()
    revision = recorded_tests.revision(root)
    wanted = [test for pointer in pointers.read(EXPERIMENTS) for test in pointer.test]
    rust = [test for test in wanted if test.partition("::")[0].endswith(".rs")]
    python = [test for test in wanted if test not in rust]
    said: dict[str, TestOutcome] = {}
    binaries = [one for (build, *_) in tally.groups_of(words) for one in _built(build, root)]
    for one in binaries:
        said |= _rust(one, [test for test in rust if one.has(test)], root)
    said |= _python([test for test in python if not test.startswith(_ALONE)], ("-n", "auto"))
    said |= _python([test for test in python if test.startswith(_ALONE)], ())
    if recorded_tests.revision(root) != revision:
        print("error: the sources changed while their tests ran: nothing is kept", file=sys.stderr)
        return 1
    recorded_tests.write(root, revision, said)
    return _tell(wanted, said)


def _tell(wanted: Sequence[str], said: Mapping[str, TestOutcome]) -> int:
    passed = [test for test in wanted if said.get(test) == "passed"]
    for test in dict.fromkeys(wanted):
        if test not in passed:
            print(f"{said.get(test, 'did not run')}: {test}")
    print(f"{recorded_tests.FILE}: {len(set(passed))} of {len(set(wanted))} tests passed")
    return 0 if len(passed) == len(wanted) else 1


def _built(build: Sequence[str], root: Path) -> Iterator[Binary]:
    """Build the test programs of some crates."""
    command = [*build, "--no-run", "--message-format=json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    yield from binaries_in(done.stdout.splitlines(), root)


def binaries_in(messages: Iterable[str], root: Path) -> Iterator[Binary]:
    """Yield the test programs that cargo's messages name."""
    for line in messages:
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or not message["profile"]["test"]:
            continue
        if message.get("executable"):
            crate = Path(message["manifest_path"]).parent.relative_to(root).as_posix()
            source = Path(message["target"]["src_path"]).relative_to(root / crate)
            # Tests of a program or library lie in its src; others in a file or folder of tests/,
            # which may be a package itself.
            target = message["target"]["name"]
            if source.parts[0] in ("src", "tests"):
                target = "src" if source.parts[0] == "src" else f"tests/{target}"
            yield Binary(crate, target, message["executable"])


def _rust(binary: Binary, tests: Sequence[str], root: Path) -> dict[str, TestOutcome]:
    if not tests:
        return {}
    names = [test.partition("::")[2] for test in tests]
    print(f"{binary.crate}, {binary.target}: {len(tests)} tests", flush=True)
    done = subprocess.run(
        [binary.executable, *names], cwd=root / binary.crate, stdout=subprocess.PIPE, text=True,
        check=False,
    )  # fmt: skip
    found = said_by_rust(done.stdout.splitlines(), tests)
    if done.returncode:
        print(done.stdout)
    return found


def said_by_rust(lines: Iterable[str], tests: Sequence[str]) -> dict[str, TestOutcome]:
    """Return what a test program's output says of tests: function and module have to be theirs."""
    found: dict[str, TestOutcome] = {}
    for line in lines:
        if match := _RUST.match(line):
            *modules, function = match[1].split("::")
            for test in tests:
                file, _, name = test.partition("::")
                stem = Path(file).stem
                if name == function and (stem in modules or not modules or stem == "lib"):
                    found[test] = "passed" if match[2] == "ok" else "failed"
    return found


def _python(tests: Sequence[str], options: Sequence[str]) -> dict[str, TestOutcome]:
    if not tests:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "tests.xml")
        subprocess.run(
            ["pytest", "-q", *options, f"--junitxml={report}", *dict.fromkeys(tests)], check=False
        )
        return said_by_pytest(report.read_text(), tests) if report.exists() else {}


def said_by_pytest(report: str, tests: Sequence[str]) -> dict[str, TestOutcome]:
    """Return what a report of pytest says of tests: of one with parameters all have to pass."""
    cases: dict[str, list[TestOutcome | None]] = {}
    for case in ElementTree.fromstring(report).iter("testcase"):
        name = f"{case.get('classname')}::{str(case.get('name')).partition('[')[0]}"
        failed = any(case.find(kind) is not None for kind in ("failure", "error"))
        skipped = case.find("skipped") is not None
        cases.setdefault(name, []).append("failed" if failed else None if skipped else "passed")
    found: dict[str, TestOutcome] = {}
    for test in tests:
        file, _, function = test.partition("::")
        words = cases.get(f"{file.removesuffix('.py').replace('/', '.')}::{function}", [])
        if "failed" in words:
            found[test] = "failed"
        elif words and None not in words:
            found[test] = "passed"
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
