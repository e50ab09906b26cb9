"""Axes of a sweep as they are written: `key=a,b,c` or `key=lo..hi:log:8`.

Values stay texts, as `--set` takes them. Whole ends give whole numbers.
"""

import math
import re
from typing import NamedTuple

from skipline._core import InputError

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(
    rf"(?P<low>{_NUMBER})\.\.(?P<high>{_NUMBER})(?::(?P<scale>[a-z]+)(?::(?P<number>[^:]*))?)?"
)
_OPENING, _CLOSING = "[{", "]}"
# More are no axis but a mistake; points are limited further (`design`).
_MOST_VALUES = 1_000_000
# Floats are written with as many digits as tell them apart on any axis.
_DIGITS = 9
HOW = "write key=a,b,c or key=lo..hi:log:8, :lin:8, :step:64"


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included, on a linear or logarithmic scale."""

    low: float
    high: float
    logarithmic: bool
    whole: bool

    def at(self, share: float) -> str:
        """Return the number at a share (0 to 1) of the way, as a setting."""
        if self.logarithmic:
            value = self.low * (self.high / self.low) ** share
        else:
            value = self.low + (self.high - self.low) * share
        value = min(max(value, self.low), self.high)
        return number_text(round(value) if self.whole else value)


class Axis(NamedTuple):
    """Keys that change together, and the settings of each value; `spread` has no values yet."""

    keys: tuple[str, ...]
    values: list[tuple[str | None, ...]]
    spread: Range | None = None

    @property
    def name(self) -> str:
        """The name of the axis in messages."""
        return ",".join(self.keys)


def parse(text: str) -> Axis:
    """Read an axis of the command line; InputError names what is wrong with it."""
    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise InputError(f"--axis '{text}': not KEY=VALUES; {HOW}")
    return from_values(key.strip(), values.strip(), f"--axis '{text}'")


def from_values(key: str, text: str, where: str) -> Axis:
    """Read the values of a key: a list or a range."""
    if ".." in text:
        return _range(key, text, where)
    return listed(key, split(text), where)


def listed(key: str, values: list[str], where: str) -> Axis:
    """Make an axis of settings; each may be there once."""
    if not values or not all(values):
        raise InputError(f"{where}: an empty value; {HOW}")
    twice = next((value for at, value in enumerate(values) if value in values[:at]), None)
    if twice is not None:
        raise InputError(f"{where}: the value {twice} is stated twice")
    return Axis((key,), [(value,) for value in values])


def split(text: str) -> list[str]:
    """Split at commas outside of quotes, lists and tables."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if letter == "," and not depth and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += (letter in _OPENING and not quote) - (letter in _CLOSING and not quote)
        parts[-1] += letter
    return [part.strip() for part in parts]


def _range(key: str, text: str, where: str) -> Axis:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise InputError(f"{where}: not a range of numbers; {HOW}")
    low, high = float(found["low"]), float(found["high"])
    scale, number = found["scale"] or "lin", found["number"]
    if scale not in ("log", "lin", "step"):
        raise InputError(f"{where}: scale '{scale}': unknown; known: log, lin, step")
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise InputError(f"{where}: this range is empty: {found['low']} is above {found['high']}")
    if scale == "log" and low <= 0:
        raise InputError(f"{where}: a logarithmic range begins above 0, not at {found['low']}")
    whole = not set(found["low"] + found["high"]) & set(".eE")
    if scale == "step":
        return _stepped(key, Range(low, high, False, whole), number, where)
    spread = Range(low, high, scale == "log", whole)
    if number is None:
        return Axis((key,), [], spread)
    count = _count(number, where)
    shares = [index / (count - 1) for index in range(count)] if count > 1 else [0.0]
    # Whole numbers of a short range fall together.
    return Axis((key,), [(value,) for value in dict.fromkeys(map(spread.at, shares))])


def _stepped(key: str, spread: Range, number: str | None, where: str) -> Axis:
    try:
        step = float(number or "")
    except ValueError:
        step = 0.0
    if not (step > 0 and math.isfinite(step)):
        raise InputError(f"{where}: step '{number or ''}': a number above 0, such as :step:64")
    whole = spread.whole and step.is_integer()
    count = math.floor((spread.high - spread.low) / step * (1 + 1e-12)) + 1
    _require_few(count, where)
    values = (spread.low + index * step for index in range(count))
    return Axis((key,), [(number_text(round(value) if whole else value),) for value in values])


def _count(number: str, where: str) -> int:
    if not number.isdigit() or int(number) < 1:
        raise InputError(f"{where}: '{number}': how many values, a whole number from 1")
    _require_few(int(number), where)
    return int(number)


def _require_few(count: int, where: str) -> None:
    if count > _MOST_VALUES:
        raise InputError(f"{where}: {count:,} values; allowed: up to {_MOST_VALUES:,}")


def number_text(value: float) -> str:
    """Write a number as a setting, without digits that only rounding has brought."""
    return str(value) if isinstance(value, int) else f"{value:.{_DIGITS}g}"


def parse_value(text: str | None) -> int | float | bool | str | None:
    """Return what a setting says, for tables: a number, a truth or a text."""
    if text is None:
        return None
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text.strip("\"'")
    return number if math.isfinite(number) else text
