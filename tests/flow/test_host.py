"""The binary from Python: found, run as the user's own, and read as typed objects."""

import re
import subprocess
from pathlib import Path

import pytest

from command_line import Outcome, Skipline
from skipline import InputError, RunError, host
from skipline.host import binary

# A line of the list of commands in the binary's help.
_COMMAND = re.compile(r"^  (\w+) ", re.MULTILINE)


@pytest.fixture
def skylake(binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A described machine, and the binary named in the environment."""
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    machine = tmp_path / "machine"
    subprocess.run([binaries / "fake-machines", "skylake", machine], check=True)
    return machine


def test_status_is_typed(skylake: Path) -> None:
    status = host.status(root=skylake)
    assert status.generation is not None and status.generation.name == "Skylake"
    first = status.sockets[0]
    assert first.io_ways is not None and (first.io_ways.mask, first.io_ways.of_ways) == (0x600, 11)
    assert [device.bdf for port in first.ports for device in port.devices][1] == "0000:17:00.0"
    assert status.unread == []


def test_a_change_is_planned_written_verified_and_taken_back(skylake: Path) -> None:
    plan = host.tune("ddio-ways", "4", root=skylake)
    assert plan.applied is None and [c.asked for c in plan.plan.changes] == [0x780, 0x780]
    report = host.tune("ddio-ways", "4", apply=True, verify=True, root=skylake)
    assert report.applied is not None and {a.result for a in report.applied} == {"set"}
    assert report.verification is not None and report.verification.verdict == "effective"
    assert [restored.result for restored in host.restore(root=skylake)] == ["put-back", "put-back"]
    assert host.restore(root=skylake) == []


@pytest.mark.parametrize(
    "name", ["haswell", "skylake", "cascade-lake", "ice-lake", "sapphire-rapids", "turin"]
)
def test_every_described_server_has_a_typed_status(
    name: str, binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    subprocess.run([binaries / "fake-machines", name, tmp_path / name], check=True)
    status = host.status(root=tmp_path / name)
    assert status.generation is not None and len(status.sockets) == 2


def test_values_that_a_change_only_keeps_are_typed(
    binaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
    machine = tmp_path / "turin"
    subprocess.run([binaries / "fake-machines", "turin", machine], check=True)
    host.tune("io-alloc", "0xf", apply=True, root=machine)
    report = host.tune("io-alloc", "off", apply=True, root=machine)
    assert report.applied is not None
    assert [one.result for one in report.applied] == ["kept"] * 4 + ["set"]
    assert [change.only_kept for change in report.plan.changes] == [True] * 4 + [False]


def test_a_restore_that_fails_is_an_error(skylake: Path) -> None:
    host.tune("ddio-ways", "4", apply=True, root=skylake)
    (skylake / "proc/sys/kernel/random/boot_id").unlink()
    with pytest.raises(RunError, match="boot_id"):
        host.restore(root=skylake)


def test_windows_are_counted(skylake: Path) -> None:
    samples = host.monitor(windows=2, interval_ms=100, root=skylake)
    assert [sample.window_ms for sample in samples] == [100, 100]
    write = samples[0].sockets[0].pcie_write
    assert write is not None and write.hits + write.misses > 0


def test_bad_input_and_failures_are_the_errors_of_the_package(skylake: Path) -> None:
    with pytest.raises(InputError, match="allowed are 2 to 11"):
        host.tune("ddio-ways", "1", root=skylake)
    with pytest.raises(RunError, match=r"Linux 6\.19 or newer"):
        host.tune("io-alloc", "on", root=skylake)


def test_the_command_becomes_the_binary(skylake: Path, skipline: Skipline) -> None:
    outcome = skipline("host", "--root", str(skylake), "status")
    assert (outcome.code, outcome.err) == (0, "")
    assert "SOCKET 1" in outcome.out
    assert skipline("host", "--root", str(skylake), "tune", "ddio-ways", "1").code == 2
    assert "Usage: skipline-host" in skipline("host", "status", "--help").out
    assert "SOCKET 1" in skipline("host", "status", "--root", str(skylake)).out


@pytest.mark.usefixtures("skylake")
def test_every_command_of_the_binary_can_be_reached(skipline: Skipline) -> None:
    help_of_binary = binary.output(["--help"])
    commands = _COMMAND.findall(help_of_binary.partition("Commands:")[2].partition("\n\n")[0])
    assert {"status", "slices"} <= set(commands)
    listed = skipline("host", "--help").out
    for command in set(commands) - {"help"}:
        assert command in listed
        assert f"Usage: skipline-host {command}" in skipline("host", command, "--help").out


def test_slices_are_asked_through_the_command(skylake: Path, skipline: Skipline) -> None:
    def slices(*arguments: str) -> Outcome:
        return skipline("host", "--root", str(skylake), "slices", *arguments)

    assert "--page-size" in slices("map", "--help").out
    wrong = slices("map", "--pages", "0")
    assert wrong.code == 2 and "allowed: a whole number from 1 to 4096" in wrong.err
    without_table = slices("nearest")
    assert without_table.code == 2 and "skipline-host slices map" in without_table.err
    published = slices("map")
    assert published.code == 0 and "Published: no recovery needed." in published.out
    assert (skipline.directory / "slices.toml").is_file()
    learnt = slices("map", "--recover", "--out", "learnt.toml")
    assert learnt.code == 0 and "Established." in learnt.out
    assert (skipline.directory / "learnt.toml").is_file()


def test_a_missing_binary_names_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SKIPLINE_HOST", str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="is not an executable file"):
        host.status()


def test_a_directory_to_compare_is_answered_with_what_it_has(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "hosts").mkdir()
    empty = skipline("host", "compare", "hosts")
    assert empty.code == 2
    assert "calibrate --out hosts/this-host.toml` writes one" in empty.err
    for name in ("a.toml", "b.toml", "b.measured.json"):
        (tmp_path / "hosts" / name).touch()
    assert "name the platform file: hosts/b.toml\n" in skipline("host", "compare", "hosts").err
