"""Ctrl-C ends a command at once; finished points of an experiment are kept."""

import signal
import subprocess
import sys
from pathlib import Path

from command_line import ENDLESS, L2FWD, SHORT, Skipline
from on_terminal import on_a_terminal, read_rest, read_until
from skipline import Store
from small_experiment import write_small_experiment

INTERRUPTED = 130


def test_a_run_ends_with_one_line_and_writes_nothing(skipline: Skipline, tmp_path: Path) -> None:
    with on_a_terminal(skipline, "run", L2FWD, *ENDLESS, "--out", "out") as (process, terminal):
        read_until(terminal, "simulating")
        process.send_signal(signal.SIGINT)
        told = read_rest(terminal)
        assert process.wait() == INTERRUPTED
        assert process.stdout is not None
        assert process.stdout.read() == ""
    assert "interrupted; nothing was written" in told
    assert "Traceback" not in told
    assert list((tmp_path / "out").iterdir()) == []


def test_ctrl_c_while_the_command_is_loading_ends_it_quietly(skipline: Skipline) -> None:
    interrupted = (
        "import sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from skipline.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", interrupted],
        cwd=skipline.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "")


def python(directory: Path, program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of Python to its end."""
    return subprocess.run(
        [sys.executable, "-c", program], cwd=directory, capture_output=True, text=True, check=False
    )


def test_ctrl_c_while_the_command_is_loading_is_no_exception_at_all(skipline: Skipline) -> None:
    # A library that is interrupted while it loads may report anything, or swallow it.
    program = (
        "import os, signal, sys\n"
        "class Interrupt:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'click':\n"
        "            try: os.kill(os.getpid(), signal.SIGINT)\n"
        "            except BaseException: raise ImportError('half of it is loaded')\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "sys.argv = ['skipline', 'store', 'list', 'x']\n"
        "from skipline.__main__ import main\n"
        "main()\n"
    )
    done = python(skipline.directory, program)
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "")


def test_a_fault_of_an_interrupted_library_is_an_interruption(skipline: Skipline) -> None:
    program = (
        "import os, signal\n"
        "from skipline import cli\n"
        "def interrupted():\n"
        "    try: os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt: raise SystemError('half of it is loaded')\n"
        "cli._called = interrupted\n"
        "cli.main()\n"
    )
    done = python(skipline.directory, program)
    assert done.returncode == INTERRUPTED and done.stdout == ""
    assert done.stderr == "interrupted; nothing was written\n"


def test_ctrl_c_in_a_change_of_a_store_counts_when_it_is_there(skipline: Skipline) -> None:
    program = (
        "import os, signal\n"
        "from skipline.store.writing import Writer\n"
        "try:\n"
        "    with Writer('s.duckdb') as writer:\n"
        "        with writer.transaction() as connection:\n"
        "            connection.execute(\n"
        '                "INSERT INTO points (point, question, simulator) VALUES (1, 1, 1)")\n'
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "            connection.execute('INSERT INTO numbers (point, value) VALUES (1, 2)')\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = python(skipline.directory, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    with Store(skipline.directory / "s.duckdb") as store:
        assert store.sql("SELECT point, value FROM points JOIN numbers USING (point)").rows() == [
            (1, 2.0)
        ]


def test_ctrl_c_within_an_insert_is_no_fault_of_the_store(skipline: Skipline) -> None:
    program = (
        "import os, signal, threading\n"
        "from skipline.store.writing import Writer\n"
        "with Writer(None) as writer:\n"
        "    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "    try: writer.connection.execute(\n"
        "        'INSERT INTO numbers (value) SELECT a.range * b.range FROM range(1000000) a, '\n"
        "        'range(1000000) b')\n"
        "    except KeyboardInterrupt: print('interrupted')\n"
    )
    done = python(skipline.directory, program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


def trace_from_a_pipe(progress: str) -> "subprocess.Popen[str]":
    """Start a program that replays its standard input, and lives on without its reader."""
    program = f"""
import os, pathlib, signal, sys
import skipline
signal.alarm(60)
forked = []
def threads():
    for path in pathlib.Path("/proc/self/task").glob("*/comm"):
        try:
            yield path.read_text().strip()
        except OSError:  # it has just ended
            pass
{progress}
try:
    done = skipline.trace("-", "three-level-lru", trace_format="raw64", progress=progress)
    print("references:", done.references, flush=True)
except (KeyboardInterrupt, skipline.RunError) as ended:
    while "trace reader" in threads():
        pass
    print(type(ended).__name__, ended, flush=True)
if forked == [0]:
    os._exit(0)
print(sys.stdin.read(), end="", flush=True)
"""
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_an_interrupted_trace_leaves_the_rest_of_standard_input_to_others() -> None:
    interrupt = "def progress(references, share): raise KeyboardInterrupt"
    with trace_from_a_pipe(interrupt) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("an address")
        process.stdin.flush()
        assert process.stdout.readline() == "KeyboardInterrupt \n"
        process.stdin.write(" and more")
        process.stdin.close()
        assert process.stdout.read().endswith(" and more")


def test_a_process_that_is_forked_while_a_trace_is_replayed_does_not_wait_for_it() -> None:
    fork = (
        "def progress(references, share):\n"
        "    if not forked:\n"
        "        forked.append(os.fork())\n"
        "        signal.alarm(60)"
    )
    with trace_from_a_pipe(fork) as process:
        assert process.stdin is not None and process.stdout is not None
        told = process.stdout.readline()
        assert told.startswith("RunError the replay cannot go on in a process that was forked")
        process.stdin.write("an address, and another one.....")
        process.stdin.close()
        assert process.stdout.read() == "references: 4\n"


def test_progress_goes_to_a_terminal_only(skipline: Skipline) -> None:
    assert skipline("run", L2FWD, *SHORT, "--format", "json").err == ""


def test_an_experiment_keeps_its_finished_points_and_goes_on(
    skipline: Skipline, tmp_path: Path
) -> None:
    # The second point runs without end: only the first can finish.
    experiment = write_small_experiment(tmp_path, endless_ring=512)
    arguments = ("experiment", "run", experiment, "--jobs", "2", "--out", "out")
    with on_a_terminal(skipline, *arguments) as (process, terminal):
        read_until(terminal, "run 1 of 2")
        process.send_signal(signal.SIGINT)
        told = read_rest(terminal)
        assert process.wait() == INTERRUPTED
    assert "interrupted; finished points are kept in out/points.duckdb" in told
    assert "Traceback" not in told
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["points.duckdb"]
    with Store(tmp_path / "out" / "points.duckdb") as store:
        assert store.points().select("rx_descriptors", "status").rows() == [
            (256, "done"),
            (512, None),
        ]
    write_small_experiment(tmp_path)
    assert "1 points simulated, 1 reused" in skipline(*arguments).out


def test_a_killed_experiment_loses_nothing_that_was_finished(
    skipline: Skipline, tmp_path: Path
) -> None:
    experiment = write_small_experiment(tmp_path, endless_ring=512)
    arguments = ("experiment", "run", experiment, "--jobs", "2", "--out", "out")
    with on_a_terminal(skipline, *arguments) as (process, terminal):
        read_until(terminal, "run 1 of 2")
        process.kill()
        process.wait()
    write_small_experiment(tmp_path)
    assert "1 points simulated, 1 reused" in skipline(*arguments).out
