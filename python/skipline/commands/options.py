"""Options that several commands have, and the kinds of values that they take."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

_MOST_64_BITS = (1 << 64) - 1


class Format(StrEnum):
    """The formats in which a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class WholeNumber(click.ParamType[int]):
    """A whole number that fits in 64 bits."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a number, or refuse it with what is allowed."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number from 0 to 2^64 - 1", param, ctx)
        if not 0 <= number <= _MOST_64_BITS:
            self.fail(f"{value} is not a whole number from 0 to 2^64 - 1", param, ctx)
        return number


def out(help_text: str, metavar: str = "PATH") -> Callable[[Any], Any]:
    """Return the option that says where results go."""
    return click.option("--out", metavar=metavar, type=click.Path(path_type=Path), help=help_text)


def choice(*flags: str, kind: type[StrEnum], **settings: Any) -> Callable[[Any], Any]:
    """Return an option whose values are those of an enumeration."""

    def as_member(
        _context: click.Context, _parameter: click.Parameter, value: str | None
    ) -> StrEnum | None:
        return None if value is None else kind(value)

    names = click.Choice([member.value for member in kind])
    return click.option(*flags, type=names, callback=as_member, **settings)


seed = click.option("--seed", metavar="N", type=WholeNumber(), help="Seed; default: 1.")
jobs = click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Points at a time; default: all cores.",
)
output = choice(
    "--format",
    "output",
    kind=Format,
    default=Format.TABLE.value,
    help="For people or for programs; default: table.",
)
