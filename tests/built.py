"""Programs that tests run, built by cargo with the crates that all other tests are built with."""

import functools
import os
import subprocess
from pathlib import Path

from command_line import REPOSITORY

CRATES = ("shared-features", "dsa-cli", "dsa-trap", "fake-machines", "host-cli")


@functools.cache
def directory() -> Path:
    """Build skipline-dsa with its library, skipline-host and fake-machines; return their folder."""
    selected = [word for crate in CRATES for word in ("-p", crate)]
    command = ["cargo", "build", "--quiet", "--locked", *selected, "--lib", "--bins"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug"
