"""`python -m skipline`, and the command `skipline`."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Start the command line; Ctrl-C while it is still being loaded ends it quietly."""
    try:
        from skipline import cli
    except KeyboardInterrupt:
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
