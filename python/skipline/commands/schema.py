"""`skipline schema`."""

from enum import StrEnum
from typing import Annotated

import typer

from skipline import _core, terminal


class Kind(StrEnum):
    """Files that have a JSON schema."""

    SCENARIO = "scenario"
    PLATFORM = "platform"
    RESULT = "result"


def schema(kind: Annotated[Kind, typer.Argument(metavar="KIND")]) -> None:
    """Print the JSON schema of a kind of file, for editors."""
    terminal.emit(_core.schema(kind.value))
