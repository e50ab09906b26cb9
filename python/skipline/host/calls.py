"""One function for each command of the binary."""

from pathlib import Path

from pydantic import TypeAdapter

from skipline.host import binary
from skipline.host.model import Report, Restored, RestoreReport, Sample, Status

_JSON = ("--format", "json")


def _machine(root: Path | None) -> list[str]:
    return [] if root is None else ["--root", str(root)]


def status(root: Path | None = None) -> Status:
    """Return everything about I/O and caches; `root` is a tree that stands in for the machine."""
    text = binary.output([*_machine(root), "status", *_JSON])
    return Status.model_validate_json(text)


def tune(
    *control: str, apply: bool = False, verify: bool = False, root: Path | None = None
) -> Report:
    """Plan a change, like `tune("ddio-ways", "4")`; write it only with `apply`."""
    switches = [*(["--apply"] if apply else []), *(["--verify"] if verify else [])]
    text = binary.output([*_machine(root), "tune", *control, *switches, *_JSON])
    return Report.model_validate_json(text)


def restore(everything: bool = False, root: Path | None = None) -> list[Restored]:
    """Put back what was changed; `everything` includes what others have changed since."""
    switch = ["--all"] if everything else []
    text = binary.output([*_machine(root), "restore", *switch, *_JSON])
    return RestoreReport.model_validate_json(text).restored


def monitor(windows: int, interval_ms: int = 1000, root: Path | None = None) -> list[Sample]:
    """Count for `windows` windows of `interval_ms` milliseconds."""
    counts = ["--windows", str(windows), "--interval", str(interval_ms)]
    text = binary.output([*_machine(root), "monitor", *counts, *_JSON])
    adapter = TypeAdapter(Sample)
    return [adapter.validate_json(line) for line in text.splitlines()]
