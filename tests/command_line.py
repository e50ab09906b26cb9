"""How tests call Skipline: as a user does, in a directory of their own."""

import atexit
import functools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent
L2FWD = "experiments/ddio-bench/l2fwd.toml"
# A run that says something and ends at once; a run that ends only when it is stopped.
SHORT_BATCH, ENDLESS_BATCH = 1024, 1 << 24
SHORT = ["--set", f"run.batch_packets={SHORT_BATCH}", "--set", "run.max_batches=10"]
ENDLESS = ["--set", f"run.batch_packets={ENDLESS_BATCH}"]
EXPERIMENTS = ("pktsize-desc", "ddio-tune")


@dataclass(frozen=True)
class Outcome:
    """What a command left: exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that stdout must be."""
        parsed = json.loads(self.out)
        assert isinstance(parsed, dict)
        return parsed


@dataclass(frozen=True)
class Skipline:
    """The command line, run in `directory`."""

    directory: Path

    def arguments(self, *arguments: str) -> list[str]:
        """The command as the operating system takes it."""
        return [sys.executable, "-m", "skipline", *arguments]

    def __call__(self, *arguments: str) -> Outcome:
        """Run to the end, in a process of its own in which Python's modules are loaded already."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as out:
            code, err = self.write_to(out.name, 200, *arguments)
            return Outcome(code, out.read(), err)

    def write_to(self, out: str, columns: int, *arguments: str) -> tuple[int, str]:
        """As a call, with stdout that is opened by its path; return exit code and stderr."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as err:
            code = _server().run(
                {
                    "arguments": arguments,
                    "directory": str(self.directory),
                    "environment": {**os.environ, "COLUMNS": str(columns)},
                    "out": out,
                    "err": err.name,
                }
            )
            return code, err.read()


class _Server:
    """The process that starts commands: loading Python's modules takes longer than most of them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("command_server.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._process.communicate)

    def run(self, request: dict[str, Any]) -> int:
        """Exit code of a command; negative for a signal that ended it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the server of commands ended"
        return int(answer)


@functools.cache
def _server() -> _Server:
    return _Server()
