"""Ctrl-C: what it ends at once, what is finished first, and what it must not be taken for.

Libraries that are interrupted while they load report faults of many kinds; so the command knows by
itself whether the user has pressed Ctrl-C.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

EXIT_CODE = 130

_AGAIN_S = 0.01

_pressed = False


def raise_exception() -> None:
    """Have Ctrl-C raise KeyboardInterrupt, and remember that it was pressed."""
    if _replace(_raise):
        sys.unraisablehook = _raise_again


def was_pressed() -> bool:
    """Return whether Ctrl-C has been pressed since `raise_exception`."""
    return _pressed


@contextmanager
def held(*, raises: bool = True) -> Iterator[None]:
    """Finish what is inside before Ctrl-C counts; pressed twice, it counts at once.

    With `raises` it then raises KeyboardInterrupt; an exception from inside goes first.
    """
    former = signal.getsignal(signal.SIGINT)
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            _raise(number, frame)
        pressed = True

    # What others do with Ctrl-C is theirs, and only the main thread may change it.
    if former not in (_raise, signal.default_int_handler) or not _replace(note):
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
    if pressed and raises:
        raise KeyboardInterrupt


def _raise(_signal: int, _frame: FrameType | None) -> NoReturn:
    global _pressed  # noqa: PLW0603 - a signal has no other place
    _pressed = True
    raise KeyboardInterrupt


def _raise_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Press Ctrl-C once more if it was pressed where an exception goes nowhere, as in `__del__`."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(unraisable)


def _replace(handler: object) -> bool:
    """Handle Ctrl-C otherwise, unless this process ignores it or is not the one to say so."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return False
    try:
        signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    except ValueError:
        return False
    return True
