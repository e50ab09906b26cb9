"""Options that several commands have."""

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def in_64_bits(value: int | None) -> int | None:
    """Refuse a number that does not fit in 64 bits."""
    if value is not None and not 0 <= value < 1 << 64:
        raise typer.BadParameter(f"{value} is not a whole number from 0 to 2^64 - 1")
    return value


Seed = Annotated[
    int | None, typer.Option(metavar="N", callback=in_64_bits, help="Seed; default: 1.")
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Points at a time; default: all cores.")]
Output = Annotated[Format, typer.Option("--format", help="For people or for programs.")]
