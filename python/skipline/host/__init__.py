"""The real machine, for scripts: what `skipline-host` says, as typed objects.

The binary is run rather than linked in: what needs privilege stays in one small program that can be
read, copied and given capabilities, and Python does not have to run as root.
"""

from skipline.host.binary import find
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
