"""Output that cannot be written is told; a reader that went away is not an error."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from command_line import L2FWD, SHORT, Skipline
from skipline import resources

COMMANDS = [
    ("run", L2FWD, *SHORT),
    ("run", L2FWD, *SHORT, "--format", "json"),
    ("experiment", "list"),
    ("platforms", "show", "skylake-gold-6140"),
    ("schema", "result"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_pipe_ends_quietly(skipline: Skipline, command: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        skipline.arguments(*command),
        cwd=skipline.directory,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_the_terminal_cannot_show_is_escaped(
    skipline: Skipline, short_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")
    (tmp_path / "d\udcff").mkdir()
    done = skipline("report", str(short_run), "--out", "d\udcff/run.html")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("/d\\udcff/run.html\n")


@pytest.mark.parametrize("command", [*COMMANDS, ("run", "--help")])
def test_a_full_disk_below_stdout_is_told(skipline: Skipline, command: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            skipline.arguments(*command),
            cwd=skipline.directory,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize("command", COMMANDS[:3])
def test_a_closed_stdout_is_told(skipline: Skipline, command: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *skipline.arguments(*command)],
        cwd=skipline.directory,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "error: the output cannot be written: stdout is closed\n"


def test_data_that_stdout_cannot_hold_is_refused_not_changed(
    skipline: Skipline, tmp_path: Path
) -> None:
    text = resources.read_text(L2FWD)
    (tmp_path / "s.toml").write_text(text.replace("title = ", "title = 'ü' #", 1))
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = skipline.arguments("run", "s.toml", *SHORT, *arguments)
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, check=False, env=environment
        )

    data = run("--format", "json")
    assert (data.returncode, data.stdout) == (1, b"")
    assert b"ascii has no '\\xfc'" in data.stderr
    people = run()
    assert (people.returncode, people.stdout[:5]) == (0, b"\\xfc\n")


def test_a_result_that_does_not_fit_leaves_no_part_of_it(
    skipline: Skipline, tmp_path: Path
) -> None:
    def no_room_for_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

    done = subprocess.run(
        skipline.arguments("run", L2FWD, *SHORT, "--out", "out"),
        cwd=skipline.directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=no_room_for_files,
    )
    assert done.returncode == 1
    assert "error: out/result.json: cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((tmp_path / "out").iterdir()) == []
