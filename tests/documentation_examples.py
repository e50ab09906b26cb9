"""The commands that the documentation shows, what it says that they print, and its Python code."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLOCK = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```", re.M | re.S)
_ALIAS = re.compile(r"^\$ alias (?P<name>\w+)='(?P<command>.*)'$", re.M)
_FILE = re.compile(r"`(?P<name>[\w.-]+\.toml)`:\s*$")


@dataclass
class Example:
    """A call of a program without its prompt, the file for its output, and the lines below it."""

    program: str
    arguments: list[str]
    into: str | None = None
    shown: list[str] = field(default_factory=list)


def files(page: str) -> dict[str, str]:
    """Return the TOML files that a page shows, each after a line that ends with its name."""
    found = {}
    for block in _BLOCK.finditer(page):
        named = _FILE.search(page[: block.start()])
        if block["kind"] == "toml" and named:
            found[named["name"]] = block["text"]
    return found


def python(page: str) -> str:
    """Return the Python code of a page, as if it were one program with the lines of the page."""
    lines = [""] * len(page.splitlines())
    for block in _BLOCK.finditer(page):
        if block["kind"] == "python":
            first = page[: block.start("text")].count("\n")
            code = block["text"].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


def examples(page: str, *programs: str) -> Iterator[Example]:
    """Yield the calls of programs in the blocks of a page, also by an alias of the page."""
    aliases = {found["name"]: found["command"] for found in _ALIAS.finditer(page)}
    for block in _BLOCK.finditer(page):
        if block["kind"] == "":
            yield from _calls(block["text"], programs, aliases)


def _calls(text: str, programs: tuple[str, ...], aliases: dict[str, str]) -> Iterator[Example]:
    example: Example | None = None
    for line in text.splitlines():
        if not line.startswith("$ "):
            if example:
                example.shown.append(line)
            continue
        if example:
            yield example
        first, _, rest = line.removeprefix("$ ").partition(" ")
        words = shlex.split(f"{aliases.get(first, first)} {rest}", comments=True)
        program = words[0].removeprefix(".venv/bin/")
        into = words.pop() if words[-2:-1] == [">"] else None
        arguments = words[1:-1] if into else words[1:]
        example = Example(program, arguments, into) if program in programs else None
    if example:
        yield example


def missing(example: Example, printed: str) -> list[str]:
    """Return the lines that were not printed; `...` stands for anything, spaces do not count."""
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    shown = (" ".join(line.split()) for line in example.shown)
    return [line for line in shown if line and "..." not in line and line not in lines]
