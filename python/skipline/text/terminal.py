"""Output to the terminal: tables and data on stdout, progress and errors on stderr."""

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from skipline._core import RunError
from skipline.text import foreign

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.progress import Progress

# Output that programs read has whole lines, however long they are.
_PIPED_WIDTH = 1 << 16
# A terminal that is narrower wraps the lines itself.
_LEAST_WIDTH = 20
# Without a terminal a long command writes a line so often, if it does so at all.
_LINE_EVERY_S = 10.0
# A command that takes longer says so in its first line, once its progress tells.
_LONG_S, _TELLS_S, _TELLS_SHARE = 10.0, 1.0, 0.005
# A notebook's display is sent to a browser.
_REFRESH_S = 0.25


def emit(text: str) -> None:
    """Write to stdout what programs read, without control characters.

    A reader that went away ends the command quietly; a full disk does not.
    """
    _write(foreign.printable(text))


def emit_json(text: str) -> None:
    """Write JSON to stdout; its values stay as they are, control characters as escapes."""
    _write(foreign.in_json(text))


def _write(text: str) -> None:
    if sys.stdout is None:
        raise RunError("the output cannot be written: stdout is closed")
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except UnicodeEncodeError as error:
        letter = error.object[error.start : error.end]
        raise RunError(
            f"the output cannot be written: {error.encoding} has no {letter!a}; "
            "set PYTHONIOENCODING=utf-8"
        ) from error
    except BrokenPipeError:
        give_up_stdout()
        raise SystemExit(0) from None
    except OSError as error:
        give_up_stdout()
        raise RunError(f"the output cannot be written: {error.strerror}") from error


def emit_for_people(text: str) -> None:
    """Write like `emit`, with an escape for each letter that stdout cannot encode, as in paths."""
    _write_encodable(foreign.printable(text))


def _write_encodable(text: str) -> None:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(text.encode(encoding, "backslashreplace").decode(encoding))


def show(*renderables: "RenderableType") -> None:
    """Render for people and write to stdout, coloured only on a terminal."""
    from rich.console import Console

    from skipline.text import layout

    # Texts are shown as they are: none has markup, and some have brackets and colons.
    console = Console(
        file=io.StringIO(),
        force_terminal=_is_terminal(),
        width=width(),
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as captured:
        for renderable in renderables:
            console.print(_Printable(layout.fit_to_width(renderable, console)), crop=False)
    _write_encodable("\n".join(line.rstrip() for line in captured.get().split("\n")))


class _Printable:
    """What is shown, without control characters in its texts; those of colours come later."""

    def __init__(self, shown: "RenderableType") -> None:
        self._shown = shown

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        for segment in console.render(self._shown, options):
            yield segment._replace(text=foreign.printable(segment.text))


def width() -> int:
    """Return how many columns `show` has."""
    import shutil

    if _is_terminal() or "COLUMNS" in os.environ:
        return max(shutil.get_terminal_size().columns, _LEAST_WIDTH)
    return _PIPED_WIDTH


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def complain(message: str) -> None:
    """Print one line of error to stderr."""
    note(f"error: {message}")


def note(message: str) -> None:
    """Print one line of information to stderr."""
    if sys.stderr is not None:
        print(foreign.printable(message), file=sys.stderr)


class Interrupted(Exception):
    """Ctrl-C in a command that keeps what it finished; the message says what and where."""


class Bar:
    """A progress display, which appears on stderr with its first update, if that is a terminal.

    Bad input is refused before there is progress, and then nothing is loaded to show any. With
    `lines` stderr gets a line every ten seconds if it is no terminal.
    """

    def __init__(self, description: str, *, lines: bool = False) -> None:
        self._description = foreign.in_cell(description)
        self._progress: Progress | None = None
        self._lines = lines
        self._began = self._line_at = time.monotonic()
        self._told = False
        self._expected_s: float | None = None
        # Time and share of the first progress: starting takes time that no share of the work does.
        self._first: tuple[float, float] | None = None
        # Share that is done for certain, and when it became so much.
        self._known: tuple[float, float] | None = None

    def update(self, fraction: float, description: str | None = None) -> None:
        """Show `fraction` (0 to 1) and, if given, another description."""
        left_s = self._forecast(fraction)
        if self._progress is None:
            if sys.stderr is None or not sys.stderr.isatty():
                self._write_line(fraction, description, left_s)
                return
            self._progress = _progress()
            self._progress.add_task(self._description, total=1.0)
            self._progress.start()
        shown = None if description is None else foreign.in_cell(description)
        task = self._progress.task_ids[0]
        completed = min(fraction, 1.0)
        self._progress.update(task, completed=completed, description=shown, left_s=left_s)

    def expect(self, seconds: float) -> None:
        """Take note of how long it takes, if that is known; the first update says so."""
        self._expected_s = seconds

    def reckon(self, share: float) -> None:
        """Take note of the share of the work that is done for certain: forecasts rest on it alone.

        What is shown may have shares in it of parts that end before all of them is done.
        """
        if self._known is None or share != self._known[1]:
            self._known = time.monotonic(), share

    def _forecast(self, fraction: float) -> float | None:
        """Return how long the rest takes, if that is known; say the whole, if it is long."""
        now = time.monotonic()
        at, share = self._known or (now, fraction)
        if self._first is None and fraction > 0:
            self._first = now, share
        left_s = self._left_s(now, at, share)
        expected_s = self._expected_s
        if expected_s is None and left_s is not None:
            expected_s = now - self._began + left_s
        if not self._told and expected_s is not None:
            self._told = True
            if self._lines and expected_s >= _LONG_S:
                note(f"{self._description}: takes about {_duration(expected_s)}")
        if self._expected_s is not None:
            return max(self._expected_s - (now - self._began), 0.0)
        return left_s

    def _left_s(self, now: float, at: float, share: float) -> float | None:
        """Return how long the rest takes, once it is known.

        The pace is that from the first progress until this `share` was done.
        """
        began, before = self._first or (at, share)
        if at - began < _TELLS_S or share - before < _TELLS_SHARE:
            return None
        return max((at - began) * (1 - share) / (share - before) - (now - at), 0.0)

    def _write_line(self, fraction: float, description: str | None, left_s: float | None) -> None:
        """Write how far it is, if it is time for the next line."""
        now = time.monotonic()
        if not self._lines or now - self._line_at < _LINE_EVERY_S:
            return
        self._line_at = now
        what = f", {description}" if description else ""
        is_told = self._expected_s is None and left_s is not None and left_s >= _LONG_S
        left = f", about {_duration(left_s)} left" if is_told and left_s is not None else ""
        note(f"{self._description}: {now - self._began:.0f} s, {100 * fraction:.0f} %{what}{left}")

    def close(self) -> None:
        """Remove the display."""
        if self._progress is not None:
            self._progress.stop()


def _duration(seconds: float) -> str:
    """Write a time as people say it."""
    if seconds < 90:  # noqa: PLR2004 - a minute and a half
        return f"{10 * round(seconds / 10)} s"
    return f"{round(seconds / 60)} min"


class _NotebookBar(Bar):
    """A progress display in a notebook, in the output of the cell that runs."""

    def __init__(self, description: str) -> None:
        super().__init__(description)
        self._began = time.monotonic()
        self._shown = 0.0
        self._display: Any = None

    def update(self, fraction: float, description: str | None = None) -> None:
        """Show `fraction` (0 to 1), what is left of the time, and, if given, a description."""
        from IPython.display import HTML, display

        left_s = self._forecast(fraction)
        now = time.monotonic()
        if now - self._shown < _REFRESH_S and fraction < 1:
            return
        self._shown = now
        text = foreign.in_html(description or self._description)
        left = "" if left_s is None else f", {left_s:.0f} s left"
        shown = HTML(f'<progress value="{fraction:.3f}"></progress> {text}{left}')
        if self._display is None:
            self._display = display(shown, display_id=True)
        else:
            self._display.update(shown)

    def close(self) -> None:
        """Remove the display."""
        from IPython.display import HTML

        if self._display is not None:
            self._display.update(HTML(""))


def _in_notebook() -> bool:
    """Return whether this is the kernel of a notebook; nothing is loaded to find that out."""
    return "ipykernel" in sys.modules


@contextmanager
def progress_bar(description: str, *, lines: bool = False) -> Iterator[Bar]:
    """Show progress with elapsed and remaining time on stderr, if that is a terminal.

    With `lines` stderr gets a line every ten seconds if it is none.
    """
    bar = _NotebookBar(description) if _in_notebook() else Bar(description, lines=lines)
    try:
        yield bar
    finally:
        bar.close()


def _progress() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """The bar's own forecast: the pace of what is shown is not that of what is done."""

        def render(self, task: Task) -> Text:
            left_s = task.fields.get("left_s")
            shown = "-:--:--" if left_s is None else str(timedelta(seconds=round(left_s)))
            return Text(shown, style="progress.remaining")

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeLeft(),
        console=Console(stderr=True),
        transient=True,
    )


def give_up_stdout() -> None:
    """Keep the interpreter from flushing into a broken stdout when it exits."""
    if sys.stdout is None:
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
