"""The time that a search has, and the display of how far it is."""

import math
import time
from collections.abc import Callable

Progress = Callable[[float, str], None]
# What is left when runs are given up: for the end of the command, and of its processes.
_RESERVED_SHARE, _RESERVED_S = 0.04, 0.3
# Without a limit each further step counts as this share of what the bar still has.
_STEP = 0.25


class Clock:
    """The time since a search began, of `limit_s` seconds or of as many as it takes.

    `used_s` of them were over before: where a command takes long to begin, it takes long to end.
    """

    def __init__(self, limit_s: float | None, report: Progress, used_s: float = 0.0) -> None:
        self._limit_s = limit_s
        self._report = report
        self._used_s = used_s
        self._began = time.monotonic() - used_s
        self._shown = 0.0
        self._step_from = self._step_to = 0.0

    @property
    def is_limited(self) -> bool:
        """Whether the search has a limit."""
        return self._limit_s is not None

    @property
    def until(self) -> float | None:
        """When runs under way are given up, as `time.monotonic` tells it."""
        if self._limit_s is None:
            return None
        reserved_s = max(_RESERVED_SHARE * self._limit_s + _RESERVED_S, self._used_s)
        return self._began + max(self._limit_s - reserved_s, 0.5 * self._limit_s)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self._began

    @property
    def left_s(self) -> float:
        """Seconds until runs are given up."""
        return math.inf if self.until is None else self.until - time.monotonic()

    def is_past(self, share: float) -> bool:
        """Return whether more than a share of the time is over."""
        return self._limit_s is not None and self.elapsed_s >= share * self._limit_s

    def begin_step(self, until_share: float | None = None) -> None:
        """Begin a step of the search, which ends at a share of the whole, if that is known."""
        self._step_from = self._shown
        further = self._shown + _STEP * (1 - self._shown)
        self._step_to = further if until_share is None else max(self._shown, until_share)

    def report(self, share: float, text: str) -> None:
        """Show a step of which `share` is done; the whole never goes back."""
        if self._limit_s is not None:
            whole = self.elapsed_s / self._limit_s
        else:
            whole = self._step_from + (self._step_to - self._step_from) * min(share, 1.0)
        self._shown = max(self._shown, min(whole, 1.0))
        self._report(self._shown, text)
