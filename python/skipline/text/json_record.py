"""Reads JSON into data classes; each fault is one line: the key, what it should be, what it is."""

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
        raise ValueError(f"the file: not valid JSON: {error}") from error


def parse(text: str | bytes) -> Any:
    """Parse JSON as mappings, lists, texts and numbers; ValueError for anything else."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"the file: not valid JSON: {error}") from error


def convert(kind: type[Record], record: object) -> Record:
    """Return parsed JSON as a data class, as `read` does."""
    import msgspec

    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_fault(str(error))) from error


def _fault(told: str) -> str:
    """Return a fault with its key first, as all messages have it."""
    what, at, where = told.partition(" - at ")
    key = where.strip("`").removeprefix("$").removeprefix(".") if at else ""
    return f"{key or 'the file'}: {what[:1].lower()}{what[1:]}"
