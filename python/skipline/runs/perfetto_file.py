"""The timeline of a window of a run, as a file for Perfetto."""

from dataclasses import dataclass
from pathlib import Path

from skipline import atomic
from skipline._core import InputError
from skipline.text import terminal


@dataclass(frozen=True)
class TimelineRequest:
    """The file of a timeline, and its window.

    The window is the number of its first packet and of packets; None is the life of the traced
    descriptor.
    """

    file: Path
    window: tuple[int, int] | None

    def prepare(self) -> None:
        """Find out before the simulation whether the file can be written."""
        if self.file.is_dir():
            raise InputError(f"--perfetto {self.file}: this is a directory; name a file")
        atomic.prepare_directory(self.file.absolute().parent)


class TimelineFile:
    """Receives a timeline at the end of a run, and writes it when the result is in order."""

    def __init__(self, request: TimelineRequest) -> None:
        self._request = request
        self._content: bytes | None = None
        self._operations = 0
        self._is_cut = False

    def take(self, content: bytes, operations: int, is_cut: bool) -> None:
        """Receive the bytes, the number of line operations, and whether some are left out."""
        self._content, self._operations, self._is_cut = content, operations, is_cut

    def write(self) -> None:
        """Write the file whole or not at all; InputError if the window never came."""
        file = self._request.file
        if self._content is None:
            raise InputError(f"--perfetto {file}: {self._reason()}")
        atomic.write(file, self._content)
        note = f"wrote {file}: {self._operations:,} line operations; open it at ui.perfetto.dev"
        if self._is_cut:
            note += "; the window had more, and ends there: lower --perfetto-packets"
        terminal.note(note)

    def _reason(self) -> str:
        if self._request.window is None:
            return "the traced descriptor never came"
        first, _ = self._request.window
        return (
            f"packet {first} never came, so the window is empty; packets that got a descriptor are "
            "numbered from 0; where there are no packets, --trace-descriptor N names a descriptor "
            "of a copy engine"
        )
