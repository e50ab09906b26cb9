"""`python -m skipline`, and the command `skipline`."""

import os
import sys
from _signal import (  # type: ignore[import-not-found]
    SIG_IGN,
    SIGINT,
    getsignal,
    signal,
)

_INTERRUPTED = 130

# Ctrl-C ends the command quietly while it is loaded, and nothing is loaded before this is said: the
# module `signal` would take longer. A program that only imports this module keeps its Ctrl-C.
_IS_COMMAND = __name__ == "__main__" or sys.argv[0].rpartition("/")[2] == "skipline"
if _IS_COMMAND and getsignal(SIGINT) is not SIG_IGN:
    signal(SIGINT, lambda *_: os._exit(_INTERRUPTED))

import atexit  # noqa: E402 - as said above
import gc  # noqa: E402
from typing import NoReturn  # noqa: E402

# Modules make many objects and no garbage; by default Python looks for some after each 700 objects.
_OBJECTS_BEFORE_A_LOOK = 10_000


def main() -> NoReturn:
    """Start the command line."""
    gc.set_threshold(_OBJECTS_BEFORE_A_LOOK)
    # At its end Python looks for garbage in all that was loaded, but for what is frozen.
    atexit.register(gc.freeze)
    try:
        from skipline import cli
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    cli.main()


if __name__ == "__main__":
    main()
