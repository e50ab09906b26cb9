"""How tests call Skipline on a terminal, where it shows its progress and is interrupted."""

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from command_line import Skipline

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


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


def shown(skipline: Skipline, columns: int, *arguments: str) -> str:
    """What a command shows on a terminal of so many columns, without colours."""
    terminal, stdout = pty.openpty()
    # The kernel keeps little of a terminal's output until a process reads it.
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit(read_rest, terminal)
        code, told = skipline.write_to(os.ttyname(stdout), columns, *arguments)
        os.close(stdout)
        lines = _COLOUR.sub("", text.result())
    os.close(terminal)
    assert code == 0, told
    return lines


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
