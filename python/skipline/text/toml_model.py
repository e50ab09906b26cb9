"""Reads TOML into a pydantic model; each fault becomes one line: file, key, value, allowed."""

import re
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from skipline._core import InputError
from skipline.text.nearest import did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

Model = TypeVar("Model", bound="BaseModel")
_FIRST_TABLE = re.compile(r"^\[", re.M)


def parse(text: str, name: str) -> dict[str, Any]:
    """Parse TOML `text`; `name` is the file name that a fault is reported with."""
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name}: not valid TOML: {error}") from error


def top_level(text: str, name: str) -> dict[str, Any]:
    """Parse the keys above the first table, which is a small part of most files.

    What follows may be invalid. A line that begins like a table inside a text or a list leaves an
    open end, with which no part is valid: the whole file is parsed then.
    """
    import tomllib

    table = _FIRST_TABLE.search(text)
    try:
        return tomllib.loads(text[: table.start()] if table else text)
    except tomllib.TOMLDecodeError:
        return parse(text, name)


def load(model: type[Model], text: str, name: str) -> Model:
    """Parse and validate TOML `text` as `model`."""
    from pydantic import ValidationError

    try:
        return model.model_validate(parse(text, name))
    except ValidationError as error:
        raise InputError(f"{name}: {_first_fault(model, error)}") from error


def _first_fault(model: "type[BaseModel]", error: "ValidationError") -> str:
    faults = error.errors(include_url=False)
    # A mistyped key is both unknown and missing; the unknown one tells what to do.
    fault = next((f for f in faults if f["type"] == "extra_forbidden"), faults[0])
    location = [str(part) for part in fault["loc"]]
    key = ".".join(location)
    if fault["type"] == "extra_forbidden":
        known = _keys_at(model, location[:-1])
        return (
            f"key '{key}': unknown{did_you_mean(location[-1], known)}; allowed: {', '.join(known)}"
        )
    if fault["type"] == "missing":
        return f"key '{key}': missing"
    message = _in_words(fault)
    return f"key '{key}' = {fault['input']!r}: {message}" if key else message


# What a value should be, by the kind of fault of pydantic.
_KINDS = {
    "bool": "true or false",
    "dict": "a table",
    "finite_number": "a finite number",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "model": "a table",
    "string": "a text",
}
_LIMITS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "too_long": ("entries: at most", "max_length"),
    "too_short": ("entries: at least", "min_length"),
}


def _in_words(fault: "ErrorDetails") -> str:
    """Return a fault of pydantic in our words: what the value should be."""
    kind, context = fault["type"], fault.get("ctx", {})
    if kind in _LIMITS:
        words, limit = _LIMITS[kind]
        return f"{words} {context[limit]}"
    if kind in {"literal_error", "enum"}:
        allowed = str(context["expected"])
        names = re.findall(r"'([^']*)'", allowed)
        return f"allowed: {allowed}{did_you_mean(str(fault['input']), names)}"
    known = next((words for name, words in _KINDS.items() if kind.startswith(f"{name}_")), None)
    if known is None:
        known = _KINDS.get(kind)
    if known is not None:
        return f"should be {known}"
    return fault["msg"].removeprefix("Value error, ")


def _keys_at(model: "type[BaseModel]", location: list[str]) -> list[str]:
    """Names of the keys allowed at `location`, followed through lists and optional tables."""
    table = model
    for part in location:
        field = table.model_fields.get(part)
        if field is not None:
            table = _table_in(field.annotation) or table
    return [field.alias or name for name, field in table.model_fields.items()]


def _table_in(annotation: Any) -> "type[BaseModel] | None":
    """Find the table type in an annotation such as `list[Axis]` or `Trivial | None`."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_table_in(argument) for argument in get_args(annotation))
    return next((table for table in found if table is not None), None)
