"""Inputs that come through pipes: read once, or refused at once in words that are true."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from command_line import L2FWD, SHORT, Skipline

SCENARIO = """
platform = "skylake-gold-6140"
application = "l2-forward"
cores = 1
rx_descriptors = 256
packet_bytes = 1024
offered_gbps = 10.0

[run]
batch_packets = 1024
max_batches = 10
"""
POINTS = ["--axis", "rx_descriptors=128,256", "--store", "s.duckdb"]
ONCE = "this command reads its inputs several times, and a pipe can be read only once"
# Nothing that is refused may take longer: it waits for something that never comes.
REFUSED_WITHIN_S = 60

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(skipline: Skipline) -> Run:
    """Run the command line with a text as its standard input, through a pipe."""

    def run(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            skipline.arguments(*arguments),
            cwd=skipline.directory,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=REFUSED_WITHIN_S * 4,
        )

    return run


@contextlib.contextmanager
def fifo(path: Path, content: bytes) -> Iterator[str]:
    """A FIFO into which a thread writes once."""
    os.mkfifo(path)
    # A reader that refuses it leaves early.
    writer = threading.Thread(target=_write, args=(path, content), daemon=True)
    writer.start()
    yield str(path)


def _write(path: Path, content: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):
        path.write_bytes(content)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture of forty frames."""
    record = (0).to_bytes(4, "little") + (5).to_bytes(4, "little") + 2 * (60).to_bytes(4, "little")
    header = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000")
    path = tmp_path / "forty.pcap"
    path.write_bytes(header + 40 * (record + bytes(range(60))))
    return path


def test_a_scenario_through_standard_input_is_that_of_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "base.toml"
    file.write_text(SCENARIO)
    piped = run("run", "/dev/stdin", "--format", "csv", stdin=SCENARIO)
    assert (piped.returncode, piped.stdout) == (0, run("run", str(file), "--format", "csv").stdout)


def test_a_scenario_through_a_fifo_is_read_once(run: Run, tmp_path: Path) -> None:
    with fifo(tmp_path / "base", SCENARIO.encode()) as path:
        done = run("run", path, "--format", "csv")
    assert done.returncode == 0, done.stderr
    assert "rx_packets" in done.stdout


def test_a_sweep_of_a_piped_scenario_goes_on_with_its_store(run: Run, tmp_path: Path) -> None:
    first = run("sweep", "/dev/stdin", *POINTS, stdin=SCENARIO)
    again = run("sweep", "/dev/stdin", *POINTS, stdin=SCENARIO)
    other = run("sweep", "/dev/stdin", *POINTS, stdin=SCENARIO.replace("1024", "512", 1))
    (tmp_path / "base.toml").write_text(SCENARIO)
    of_file = run("sweep", "base.toml", *POINTS)
    counts = ["2 simulated, 0 reused", "0 simulated, 2 reused"]
    for done, count in zip((first, again, other, of_file), [*counts, *counts], strict=True):
        assert count in done.stdout, done.stderr


def test_advise_takes_a_piped_scenario(run: Run) -> None:
    wanted = ["--goal", "p99", "--budget", "2", "--jobs", "1"]
    done = run("advise", "/dev/stdin", *wanted, stdin=SCENARIO)
    assert done.returncode == 0, done.stderr


def test_sweep_files_and_axis_files_may_be_pipes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(SCENARIO)
    sweep = 'sweep = "base.toml"\n[axis]\nrx_descriptors = [128, 256]\n'
    done = run("sweep", "/dev/stdin", "--store", "a.duckdb", stdin=sweep)
    assert "2 simulated" in done.stdout, done.stderr
    table = "rx_descriptors\n128\n256\n"
    done = run(
        "sweep", "base.toml", "--axis-file", "/dev/stdin", "--store", "b.duckdb", stdin=table
    )
    assert "2 simulated" in done.stdout, done.stderr


def test_diff_and_report_read_results_and_scenarios_from_pipes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(SCENARIO)
    assert run("run", "base.toml", "--out", "kept").returncode == 0
    result = (tmp_path / "kept" / "result.json").read_text()
    for text in (result, SCENARIO):
        done = run("diff", "/dev/stdin", "base.toml", stdin=text)
        assert done.returncode == 0, done.stderr
        assert "+0.00" in done.stdout
    assert run("report", "/dev/stdin", stdin=result).returncode == 0
    assert "<html" in (tmp_path / "report.html").read_text()


def test_a_platform_may_be_a_pipe(run: Run, skipline: Skipline) -> None:
    file = Path(__file__).parents[2] / "platforms" / "skylake-gold-6140.toml"
    platform = file.read_text()
    done = run("platforms", "show", "/dev/stdin", stdin=platform)
    assert done.returncode == 0, done.stderr
    of_file = skipline("run", L2FWD, *SHORT, "--format", "csv", "--set", f"platform={file}")
    with fifo(skipline.directory / "platform", platform.encode()) as path:
        piped = run("run", L2FWD, *SHORT, "--format", "csv", "--set", f"platform={path}")
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout == of_file.out


def test_a_capture_is_read_from_a_pipe_by_a_run_and_refused_by_a_sweep(
    run: Run, capture: Path, tmp_path: Path
) -> None:
    wanted = ["--set", "traffic.loops=1", "--set"]
    with fifo(tmp_path / "one", capture.read_bytes()) as path:
        done = run("run", L2FWD, *wanted, f"traffic.pcap={path}", "--format", "json")
    assert '"rx_packets"' in done.stdout, done.stderr
    with fifo(tmp_path / "two", capture.read_bytes()) as path:
        refused = run("sweep", L2FWD, *wanted, f"traffic.pcap={path}", *POINTS)
    assert refused.returncode == 2
    assert f"{path}' cannot be opened: {ONCE}: write its content to a file" in refused.stderr


def test_a_capture_of_two_tenants_is_refused_when_the_pipe_is_empty(
    run: Run, capture: Path, tmp_path: Path
) -> None:
    with fifo(tmp_path / "one", capture.read_bytes()) as path:
        tenant = f'[[tenant]]\napplication = "l2-forward"\ntraffic = {{ pcap = "{path}" }}\n'
        scenario = f'platform = "skylake-gold-6140"\n{tenant}name = "a"\n{tenant}name = "b"\n'
        refused = run("run", "/dev/stdin", stdin=scenario)
    assert refused.returncode == 2
    assert "this pipe has been read already" in refused.stderr, refused.stderr


@pytest.mark.soak
def test_a_fifo_without_a_writer_is_refused(run: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "silent")
    trace = ["trace", "silent", "--machine", "skylake-gold-6140"]
    commands = [["run", "silent"], ["report", "silent"], ["diff", L2FWD, "silent"], trace]
    # Each waits for ten seconds.
    with ThreadPoolExecutor(len(commands)) as at_once:
        for refused in at_once.map(lambda command: run(*command), commands):
            assert refused.returncode == 2
            assert "no program has opened this FIFO for writing within 10 s" in refused.stderr


def test_a_text_without_an_end_is_refused(run: Run) -> None:
    refused = run("run", "/dev/zero")
    assert refused.returncode == 2
    assert "/dev/zero: cannot be read: longer than 4 MiB" in refused.stderr


def test_workers_get_a_platform_that_came_through_a_pipe(run: Run) -> None:
    file = Path(__file__).parents[2] / "platforms" / "skylake-gold-6140.toml"
    platform = file.read_text()
    wanted = ["--set", "platform=/dev/fd/0", *SHORT, "--jobs", "2", *POINTS]
    done = run("sweep", L2FWD, *wanted, stdin=platform)
    assert "2 points: 2 simulated" in done.stdout, done


def test_a_file_in_shared_memory_is_a_file(run: Run, capture: Path) -> None:
    with tempfile.NamedTemporaryFile(dir="/dev/shm", suffix=".pcap") as file:
        file.write(capture.read_bytes())
        file.flush()
        wanted = ["--set", f"traffic.pcap={file.name}", "--set", "traffic.loops=1", *POINTS]
        done = run("sweep", L2FWD, *wanted)
    assert "2 points: 2 simulated" in done.stdout, done


def test_a_pipe_is_not_read_as_two_inputs(run: Run) -> None:
    both = ["--set", "traffic.pcap=/dev/stdin"]
    refused = run("run", "/dev/stdin", *both, stdin=SCENARIO)
    assert refused.returncode == 2
    assert "this pipe has been read already" in refused.stderr, refused.stderr


def test_closed_standard_input_is_named(skipline: Skipline) -> None:
    script = " ".join(f"'{word}'" for word in skipline.arguments("run", "/dev/stdin")) + " <&-"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        cwd=skipline.directory,
    )
    assert done.returncode == 2
    assert "/dev/stdin: cannot be read: it is not open in this process" in done.stderr


@pytest.mark.parametrize("command", [["sweep", L2FWD, *POINTS[:2]], ["store", "list"]])
def test_a_store_is_a_regular_file(run: Run, command: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    named = ["--store", "fifo"] if command[0] == "sweep" else ["fifo"]
    refused = run(*command, *named)
    assert refused.returncode == 2
    assert "fifo: not a regular file; a store is one" in refused.stderr


def test_texts_of_other_encodings_are_read_or_named(skipline: Skipline) -> None:
    (skipline.directory / "mark.toml").write_bytes(b"\xef\xbb\xbf" + b'sweep = "base.toml"\n')
    (skipline.directory / "base.toml").write_bytes(b"\xef\xbb\xbf" + SCENARIO.encode())
    done = skipline("sweep", "mark.toml", *POINTS)
    assert done.code == 0, done.err
    (skipline.directory / "utf16.toml").write_bytes(SCENARIO.encode("utf-16"))
    refused = skipline("run", "utf16.toml")
    assert refused.code == 2
    assert "not UTF-8 text (byte 0): it is UTF-16; save it as UTF-8" in refused.err


@pytest.mark.parametrize("what", ["scenario", "capture"])
def test_ctrl_c_ends_the_wait_for_a_silent_pipe(skipline: Skipline, what: str) -> None:
    named = ["/dev/stdin"] if what == "scenario" else [L2FWD, "--set", "traffic.pcap=/dev/stdin"]
    with subprocess.Popen(
        skipline.arguments("run", *named),
        cwd=skipline.directory,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stderr is not None
        process.stdin.write(" ")
        process.stdin.flush()
        _wait_until_empty(process.stdin.fileno())
        process.send_signal(signal.SIGINT)
        assert process.wait(REFUSED_WITHIN_S) == 130
        assert process.stderr.read().strip() == "interrupted; nothing was written"


def _wait_until_empty(pipe: int) -> None:
    """Wait until the reader of a pipe has taken all that was written."""
    import array
    import fcntl
    import termios

    left = array.array("i", [1])
    while left[0]:
        fcntl.ioctl(pipe, termios.FIONREAD, left)


def test_a_deleted_directory_is_named(skipline: Skipline, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for command in (
        ["sweep", L2FWD, "--axis", "rx_descriptors=64"],
        ["run", "x.toml"],
        ["run", L2FWD, "--out", "r"],
    ):
        gone.mkdir()
        arguments = " ".join(f"'{word}'" for word in skipline.arguments(*command))
        script = f"cd '{gone}' && rmdir '{gone}' && exec {arguments}"
        shell = shutil.which("sh")
        assert shell is not None
        done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        assert "the current directory has been deleted: change to another one" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["run", "empty.toml"],
        ["sweep", "empty.toml", *POINTS],
        ["sweep", L2FWD, "--axis-file", "empty.toml", "--store", "s.duckdb"],
        ["advise", "empty.toml", "--goal", "p99"],
        ["diff", "empty.toml", L2FWD],
        ["diff", "empty", L2FWD],
        ["report", "empty"],
        ["store", "show", "empty"],
        ["platforms", "show", "empty.toml"],
        ["testbeds", "show", "empty.toml"],
        ["run", L2FWD, "--set", "platform=empty.toml"],
        ["run", L2FWD, "--set", "testbed=empty.toml"],
        ["run", L2FWD, "--set", "traffic.pcap=empty"],
        ["trace", "empty", "--machine", "skylake-gold-6140"],
        ["calibrate", "empty.toml"],
        ["experiment", "run", "empty.toml"],
        ["budget", "empty.toml"],
    ],
    ids=" ".join,
)
def test_an_empty_file_is_called_empty(skipline: Skipline, command: list[str]) -> None:
    for name in ("empty", "empty.toml"):
        (skipline.directory / name).write_text("")
    refused = skipline(*command)
    assert refused.code == 2, refused
    assert "empty" in refused.err.replace("empty.toml", "").replace(" empty:", ""), refused.err
