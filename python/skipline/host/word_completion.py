"""Completion after `skipline host`: commands, options and values, from the binary."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from skipline._core import InputError, RunError
from skipline.host import binary

# A command of the binary as `skipline-host __words` prints it.
_Command = dict[str, Any]


def completions(typed: Sequence[str], begun: str) -> Iterator[tuple[str, str]]:
    """Yield words that begin as `begun` and may follow those typed, with their meaning."""
    try:
        command: _Command = json.loads(binary.output(["__words"]))
    except (InputError, RunError):
        return
    awaited: _Command | None = None
    for word in typed:
        options = {option["name"]: option for option in command["options"]}
        below = {inner["name"]: inner for inner in command["commands"]}
        if awaited is None and word in below:
            command = below[word]
        option = options.get(word)
        takes = awaited is None and option is not None and option["takes_value"]
        awaited = option if takes else None
    found = _offered(command, begun) if awaited is None else _values(awaited)
    yield from ((word, about) for word, about in found if word.startswith(begun))


def _offered(command: _Command, begun: str) -> Iterator[tuple[str, str]]:
    if begun.startswith("-"):
        yield from ((option["name"], option["about"]) for option in command["options"])
        return
    yield from ((inner["name"], inner["about"]) for inner in command["commands"])
    yield from _values(command)


def _values(holder: _Command) -> Iterator[tuple[str, str]]:
    yield from ((value, "") for value in holder["values"])
