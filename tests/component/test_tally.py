"""The count over all suites: what it reads, and that a suite that fails or hangs is told."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tally
from command_line import REPOSITORY, Outcome

RUST = (
    "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s"
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (RUST, (3, 0, 1)),
        (RUST.replace("ok", "FAILED").replace("0 failed", "2 failed"), (3, 2, 1)),
        ("368 passed in 54.46s", (368, 0, 0)),
        ("=== 7 passed, 3 skipped, 5 deselected in 75.21s (0:01:15) ===", (7, 0, 3)),
        ("= 1 failed, 7 passed, 1 xfailed, 2 warnings, 2 errors in 1.20s =", (7, 3, 1)),
        ("3 passed things in the middle of a line", (0, 0, 0)),
        ("test result: ok", (0, 0, 0)),
    ],
)
def test_closing_lines_are_counted_and_no_others(line: str, expected: tuple[int, int, int]) -> None:
    counts = tally.counts_of(line)
    assert (counts["passed"], counts["failed"], counts["skipped"]) == expected


def tallied(*arguments: str) -> Outcome:
    command = [sys.executable, str(REPOSITORY / "tests" / "tally.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


def test_all_suites_run_and_one_that_fails_is_named() -> None:
    done = tallied("--", "sh", "-c", f"echo '{RUST}'; exit 3", "--", "echo", "2 passed in 0.10s")
    assert done.code == 1
    *_, failed, count = done.out.splitlines()
    assert failed.startswith("exit code 3: sh -c")
    assert count == "5 passed, 0 failed, 1 skipped"


def test_suites_that_pass_end_well() -> None:
    done = tallied("--", "echo", "2 passed in 0.10s")
    assert (done.code, done.out.splitlines()[-1]) == (0, "2 passed, 0 failed, 0 skipped")


def test_a_suite_beyond_the_budget_is_ended_and_what_did_not_run_is_named() -> None:
    done = tallied("--minutes", "0.005", "--", "sleep", "1000", "--", "echo", "2 passed in 0.10s")
    assert done.code == 1
    assert "no time for: sleep 1000" in done.out
    assert "no time for: echo" in done.out
    assert done.out.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"


def test_suites_beside_each_other_run_at_once_and_are_all_counted(tmp_path: Path) -> None:
    # Each ends once it has seen the other's file.
    script = 'touch "$0"; while [ ! -e "$1" ]; do sleep 0.01; done; echo "$2 passed in 0.10s"'
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    beside = ("--", "sh", "-c", script, one, two, "3", "++", "sh", "-c", script, two, one, "4")
    done = tallied("--minutes", "1", *beside, "++", "sh", "-c", "exit 5", "--", "echo")
    assert done.code == 1
    assert done.out.index("3 passed") < done.out.index("4 passed") < done.out.index("$ echo")
    assert "4 suites" in done.out
    assert "exit code 5: sh -c 'exit 5'" in done.out
    assert done.out.splitlines()[-1] == "7 passed, 0 failed, 0 skipped"


def test_ctrl_c_ends_the_suites_beside_each_other_too(tmp_path: Path) -> None:
    here = tmp_path / "here"
    beside = [
        "--",
        "sh",
        "-c",
        f"touch {here}; sleep 1000",
        "++",
        "sh",
        "-c",
        "echo told; sleep 1000",
    ]
    command = [sys.executable, str(REPOSITORY / "tests" / "tally.py"), *beside]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as it:
        while not here.exists():
            assert it.poll() is None
        it.send_signal(signal.SIGINT)
        out, _ = it.communicate()
    assert it.returncode != 0
    assert "$ sh -c 'echo told; sleep 1000'" in out


@pytest.mark.parametrize("words", [["--"], ["--", "++", "true"], ["--", "true", "++"]])
def test_an_empty_suite_is_refused(words: list[str]) -> None:
    done = tallied(*words)
    assert done.code != 0
    assert "an empty suite" in done.err


def test_suites_start_over_with_another_seed_until_the_time_is_over() -> None:
    seeds = tallied("--for-minutes", "0.002", "--", "sh", "-c", "echo seed $PROPTEST_RNG_SEED")
    assert seeds.code == 0
    assert "seed 1\n" in seeds.out


RUST_RUN = [
    (0.0, "     Running tests/all/main.rs ({program})"),
    (0.0, "running 3 tests"),
    (4.0, "test a ... FAILED"),
    (5.0, "test c ... ok"),
    (11.0, "test b ... ok"),
    (11.0, RUST),
]


def test_slow_tests_of_rust_are_found_by_when_they_ended(tmp_path: Path) -> None:
    program = tmp_path / "all-0123"
    program.with_suffix(".d").write_text(f"{program}: crates/x/tests/all/main.rs crates/x/a.rs\n")
    times = tally.RustTimes(at_a_time=2)
    for second, line in RUST_RUN:
        times.read(line.format(program=program), second)
    # Two begin at once, in order of names; c begins when a has ended.
    folder = "crates/x/tests/all"
    assert times.slowest(2) == [f"11.0 s {folder}: b", f"4.0 s {folder}: a"]
    assert times.seconds[f"{folder}: c"] == 1.0


def test_tests_of_rust_that_passed_are_not_printed() -> None:
    done = tallied("--", "printf", "%s\n", "test a ... ok", "test b ... FAILED")
    assert "\ntest a" not in done.out
    assert "\ntest b ... FAILED\n" in done.out
