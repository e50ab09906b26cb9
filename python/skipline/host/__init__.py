"""The real machine, for scripts: what `skipline-host` says, as typed objects.

The binary is run rather than linked in: what needs privilege stays in one small program that can be
read, copied and given capabilities, and Python does not have to run as root.
"""

from typing import TYPE_CHECKING

from skipline.host.binary import find

if TYPE_CHECKING:
    from skipline.host.calls import monitor, restore, status, tune
    from skipline.host.model import (
        Applied,
        Change,
        Port,
        Report,
        Restored,
        Sample,
        Socket,
        Status,
        Unread,
        Verification,
    )

__all__ = [
    "Applied",
    "Change",
    "Port",
    "Report",
    "Restored",
    "Sample",
    "Socket",
    "Status",
    "Unread",
    "Verification",
    "find",
    "monitor",
    "restore",
    "status",
    "tune",
]


def __getattr__(name: str) -> object:
    """Import a name when it is first used: a command that is passed on needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module 'skipline.host' has no attribute '{name}'")
    from skipline.host import calls, model

    return getattr(calls if name.islower() else model, name)
