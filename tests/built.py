"""Programs that tests run, built by cargo with the crates that all other tests are built with."""

import functools
import os
import subprocess
from pathlib import Path

from command_line import REPOSITORY

_CRATES = ("shared-features", "dsa-cli", "dsa-trap", "fake-machines", "host-cli")
SELECTED = tuple(word for crate in _CRATES for word in ("-p", crate))


@functools.cache
def directory() -> Path:
    """Build skipline-dsa with its library, skipline-host and fake-machines; return their folder."""
    command = ["cargo", "build", "--quiet", "--locked", *SELECTED, "--lib", "--bins"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug"
