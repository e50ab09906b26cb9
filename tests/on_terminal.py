"""How tests call Skipline on a terminal, where it shows its progress and is interrupted."""

import os
import pty
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from command_line import Skipline


@contextmanager
def on_a_terminal(
    skipline: Skipline, *arguments: str
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Start a command whose stderr is a terminal, so that it shows its progress."""
    terminal, stderr = pty.openpty()
    process = subprocess.Popen(
        skipline.arguments(*arguments),
        cwd=skipline.directory,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(stderr)
    try:
        yield process, terminal
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        os.close(terminal)


def read_until(terminal: int, text: str) -> str:
    """Read what appears on the terminal until `text` does."""
    seen = ""
    while text not in seen:
        seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


def read_rest(terminal: int) -> str:
    """Read until the other side is closed."""
    seen = b""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # how Linux tells that the last writer of a terminal is gone
            chunk = b""
        if not chunk:
            return seen.decode(errors="replace")
        seen += chunk
