"""How tests call Skipline: as a user does, in a directory of their own."""

import json
import os
import subprocess
import sys
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
        """Run to the end."""
        done = subprocess.run(
            self.arguments(*arguments),
            cwd=self.directory,
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)
