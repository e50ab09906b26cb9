"""Shells complete commands, options, names and keys."""

import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import Skipline

SHELLS = ("bash", "zsh", "fish")
# A shell that does not answer fails its test instead of keeping it.
PATIENCE_S = 60


def completed(
    skipline: Skipline, monkeypatch: pytest.MonkeyPatch, shell: str, *words: str
) -> list[str]:
    """What a shell is told to offer for the last word; each shell asks in its own way."""
    monkeypatch.setenv("_SKIPLINE_COMPLETE", f"{shell}_complete")
    line = ["skipline", *words]
    monkeypatch.setenv("COMP_WORDS", ("\n" if shell == "bash" else " ").join(line))
    monkeypatch.setenv("COMP_CWORD", words[-1] if shell == "fish" else str(len(words)))
    done = skipline()
    assert (done.code, done.err) == (0, "")
    return [answer.partition("\t")[0] for answer in done.out.splitlines() if answer]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["bud"], ["budget"]),
        (["experiment", ""], ["list", "show", "run"]),
        (["host", "ca"], ["calibrate"]),
        (["run", "--tr"], ["--trace-packet", "--trace-line", "--trace-descriptor"]),
        (["run", "x.toml", "--format", ""], ["table", "json", "csv"]),
        (["run", "experiments/ddio-bench/"], ["experiments/ddio-bench/l2fwd.toml"]),
        (["run", "x.toml", "--set", "rx_d"], ["rx_descriptors="]),
        (["run", "x.toml", "--set", "traffic.pat"], ["traffic.pattern="]),
        (["run", "x.toml", "--set", "hardware.dram.pa"], ["hardware.dram.path_ns="]),
        (["experiment", "show", "pktsize"], ["pktsize-desc"]),
        (["experiment", "run", "pktsize-desc", "ddio-"], ["ddio-tune", "ddio-tune-events"]),
        (["platforms", "show", "skylake-gold-614"], ["skylake-gold-6140"]),
        (["trace", "--machine", "three"], ["three-level-lru"]),
        (["trace", "--standard", "4mib-r"], ["4mib-random"]),
        (["evidence", "--source", "at"], ["atc20"]),
        (["calibrate", "experiments/c"], ["experiments/calibration/gold-6140.toml"]),
        (["schema", "s"], ["scenario"]),
    ],
)
def test_names_and_keys_are_completed(
    skipline: Skipline,
    monkeypatch: pytest.MonkeyPatch,
    shell: str,
    words: list[str],
    offered: list[str],
) -> None:
    assert sorted(completed(skipline, monkeypatch, shell, *words)) == sorted(offered)


@pytest.mark.parametrize(
    ("shell", "words", "offered"),
    [
        # Bash splits at `=` and replaces what is behind it.
        ("bash", ["run", "x.toml", "--set", "traffic.pattern", "=", "fi"], ["fixed"]),
        ("bash", ["run", "x.toml", "--set", "traffic.arrivals", "="], None),
        ("bash", ["run", "x.toml", "--format", "=", "js"], ["json"]),
        ("zsh", ["run", "x.toml", "--set", "traffic.pattern=fi"], ["traffic.pattern=fixed"]),
        ("fish", ["run", "x.toml", "--format=js"], ["--format=json"]),
        ("fish", ["run", "x.toml", "--set", "evict_on_dma_read="], None),
    ],
)
def test_values_of_keys_are_completed(
    skipline: Skipline,
    monkeypatch: pytest.MonkeyPatch,
    shell: str,
    words: list[str],
    offered: list[str] | None,
) -> None:
    found = completed(skipline, monkeypatch, shell, *words)
    assert found == offered if offered is not None else len(found) > 1


@pytest.mark.parametrize("shell", SHELLS)
def test_files_and_folders_are_completed(
    skipline: Skipline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    (tmp_path / "node7.toml").touch()
    (tmp_path / "node8.txt").touch()
    (tmp_path / "nodes").mkdir()
    found = completed(skipline, monkeypatch, shell, "platforms", "check", "node")
    assert found == ["node7.toml", "nodes/"]
    found = completed(skipline, monkeypatch, shell, "report", "node")
    assert found == ["node7.toml", "node8.txt", "nodes/"]


def test_meanings_are_shown_where_a_shell_can(
    skipline: Skipline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_SKIPLINE_COMPLETE", "fish_complete")
    monkeypatch.setenv("COMP_WORDS", "skipline run x.toml --set rx_d")
    monkeypatch.setenv("COMP_CWORD", "rx_d")
    assert skipline().out == "rx_descriptors=\tReceive descriptors per queue.\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_understands_its_script(skipline: Skipline, shell: str) -> None:
    script = skipline("completion", shell).out
    assert "_SKIPLINE_COMPLETE" in script
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_a_tab_in_bash_completes_a_platform_and_a_key(skipline: Skipline, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "skipline"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m skipline "$@"\n')
    program.chmod(0o755)
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=skipline.directory,
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
        env={
            **os.environ,
            "PS1": "ready> ",
            "TERM": "dumb",
            "INPUTRC": os.devnull,
        },
    )
    os.close(inside)
    try:
        # As the first tutorial has it, not on the PATH.
        type_and_await(terminal, f"alias skipline='{program}'\n", "\nready> ")
        script = 'eval "$(skipline completion bash)"; echo lo""aded\n'
        type_and_await(terminal, script, "loaded\r\n")
        type_and_await(terminal, "skipline budget skylake-gold-614\t", "skylake-gold-6140 ")
        # Control-U empties the line; what Control-C shows depends on what bash does at that moment.
        call = "skipline run x.toml --set traffic.patt\t"
        type_and_await(terminal, f"\x15{call}", "traffic.pattern=")
        type_and_await(terminal, "fi\t", "fixed ")
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def type_and_await(terminal: int, keys: str, expected: str) -> None:
    """Type, and read what appears until it is what is expected."""
    os.write(terminal, keys.encode())
    seen = ""
    while expected not in seen:
        readable, _, _ = select.select([terminal], [], [], PATIENCE_S)
        assert readable, f"bash shows {seen!r} instead of {expected!r}"
        seen += os.read(terminal, 65536).decode(errors="replace")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["host", "tune", "ddio-w"], ["ddio-ways"]),
        (["host", "tune", "--app"], ["--apply"]),
        (["host", "tune", "ddio-ways", "4", "--so"], ["--socket"]),
        (["host", "tune", "--window", "5", "ddio", "o"], ["on", "off"]),
        (["host", "status", "--ex"], ["--explain"]),
        (["host", "status", "--format", ""], ["text", "json"]),
        (["host", "status", "words"], []),
    ],
)
def test_options_of_the_host_program_are_completed(
    skipline: Skipline,
    monkeypatch: pytest.MonkeyPatch,
    binaries: Path,
    words: list[str],
    offered: list[str],
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    assert sorted(completed(skipline, monkeypatch, "bash", *words)) == sorted(offered)


def test_without_the_host_program_nothing_is_completed(
    skipline: Skipline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(tmp_path / "nothing"))
    assert completed(skipline, monkeypatch, "bash", "host", "tune", "--app") == []
