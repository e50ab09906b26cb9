"""Finding and running the binary `skipline-host`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from skipline._core import InputError, RunError

_NAME = "skipline-host"
_BAD_INPUT = 2
# The binary did what it could and says so in its output: failed, refused, not as asked, without
# effect, not judged.
_REPORTED_CODES = (1, 3, 4, 5, 6)


def find() -> Path:
    """Return the binary: $SKIPLINE_HOST, else that of this package, else the one on the PATH."""
    if named := os.environ.get("SKIPLINE_HOST"):
        if not os.access(named, os.X_OK):
            raise InputError(f"SKIPLINE_HOST: {named} is not an executable file")
        return Path(named)
    packaged = Path(__file__).parent.parent / "bin" / _NAME
    if os.access(packaged, os.X_OK):
        return packaged
    if on_path := shutil.which(_NAME):
        return Path(on_path)
    raise RunError(
        f"the binary {_NAME} is not part of the Python package: `make host` in a clone builds it; "
        "put it on the PATH, or name it in SKIPLINE_HOST"
    )


def replace_process(arguments: Sequence[str]) -> NoReturn:
    """Become the binary: streams, signals, terminal and exit code are its own."""
    path = find()
    sys.stdout.flush()
    try:
        os.execv(path, [_NAME, *arguments])
    except OSError as error:
        raise RunError(f"{path} cannot be started: {error.strerror}") from error


def output(arguments: Sequence[str]) -> str:
    """Run the binary and return what it printed; its own errors are raised, also halfway ones."""
    path = find()
    try:
        run = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RunError(f"{path} cannot be started: {error.strerror}") from error
    message = run.stderr.strip().removeprefix("error: ")
    if run.returncode == _BAD_INPUT:
        raise InputError(message)
    is_reported = run.returncode in _REPORTED_CODES and not run.stderr.startswith("error: ")
    if run.returncode != 0 and not is_reported:
        raise RunError(message or f"{_NAME} ended with {run.returncode}")
    return run.stdout
