"""Reads JSON into data classes; each fault is one line: the key, what it should be, what it is."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

Record = TypeVar("Record")

# Bad input is refused before there is a result, and then msgspec is not loaded.


def read(kind: type[Record], text: str | bytes) -> Record:
    """Parse JSON as a data class, or a list of them; keys that it does not have are left out.

    Raises ValueError: the sentence of the first fault.
    """
    import msgspec

    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(_fault(str(error))) from error
    except msgspec.DecodeError as error:
        raise ValueError(_malformed(text, error)) from error


def parse(text: str | bytes) -> Any:
    """Parse JSON as mappings, lists, texts and numbers; ValueError for anything else."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(_malformed(text, error)) from error


def convert(kind: type[Record], record: object) -> Record:
    """Return parsed JSON as a data class, as `read` does."""
    import msgspec

    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_fault(str(error))) from error


def _malformed(text: str | bytes, error: Exception) -> str:
    """Return the fault of text that is not JSON; a number that JSON does not have names its key."""
    try:
        parsed = json.loads(text)
    except ValueError:
        return f"the file: not valid JSON: {error}"
    found = next(_not_finite(parsed, ""), None)
    return f"the file: not valid JSON: {error}" if found is None else found


def _not_finite(value: object, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _not_finite(one, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _not_finite(one, f"{key}[{index}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield f"{key}: {value} is not a finite number"


_MISSING = re.compile(r"Object missing required field `(.+)`")
_WRONG = re.compile(r"Expected `(.+)`, got `(.+)`")
_NAME = re.compile(r"Invalid enum value (.+)")
_KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "an object",
    "str": "a text",
}


def _fault(told: str) -> str:
    """Return a fault with its key first, as all messages have it, in our words."""
    what, at, where = told.partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".") if at else ""
    if missing := _MISSING.fullmatch(what):
        return f"{key}.{missing[1]}: missing".removeprefix(".")
    if wrong := _WRONG.fullmatch(what):
        what = f"should be {_kinds(wrong[1])}, not {_kinds(wrong[2])}"
    elif name := _NAME.fullmatch(what):
        what = f"{name[1]} is not known"
    return f"{key or 'the file'}: {what[:1].lower()}{what[1:]}"


def _kinds(names: str) -> str:
    return " or ".join(_KINDS.get(name.strip(), name.strip()) for name in names.split("|"))
