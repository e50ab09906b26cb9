"""Six questions that make a scenario for a server of one's own, judged by the simulator's rules."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from skipline import _core, atomic
from skipline._core import InputError
from skipline.scenarios.settings import toml_literal
from skipline.text.nearest import did_you_mean

_CARDS = "devices/nic/"
_HEAD = """\
# Written by `skipline init`. Keys that are left out have defaults (`skipline schema scenario`);
# `application` may be another one: l3-forward, packet-sink, key-value, ...
title = "My server"
question = "How much of the traffic stays in the cache, and how much leaks to DRAM?"
# Of a card with two ports in use, each with this load and a ring for every core: `ports = 2`.
# Packets come in trains, as the testbed's generator sends them: `traffic.pattern` has others.
"""
# An answer as it is typed, and the value of its key; None leaves the key out.
Value = str | int | float | None


class Question(NamedTuple):
    """A question and the key that its answer states.

    `default` is the answer that an empty line gives, `meanwhile` the value with which the answers
    before it are judged: one that goes with any of them.
    """

    key: str
    text: str
    default: str
    read: Callable[[str], Value]
    meanwhile: Value = None


def _server(answer: str) -> Value:
    if answer in _core.platform_names() or Path(answer).is_file():
        return answer
    try:
        _core.platform(answer)
    except InputError as error:
        # Of "FILE: `platform` = ...: no such platform; HINT" only the hint is news.
        hint = str(error).rpartition("no such platform; ")[2]
        raise InputError(f"'{answer}' is neither a known platform nor a file: {hint}") from None
    return answer


def _card(answer: str) -> Value:
    known = cards()
    if answer == "own":
        return None
    if answer in known or Path(answer).is_file():
        return answer
    raise InputError(
        f"'{answer}' is neither a known card{did_you_mean(answer, known)} nor a file; "
        f"known: own (that of the server), {', '.join(known)}"
    )


def _whole(answer: str) -> Value:
    if answer.isascii() and answer.isdigit():
        return int(answer)
    raise InputError(f"'{answer}' is not a whole number")


def _number(answer: str) -> Value:
    try:
        return float(answer)
    except ValueError:
        raise InputError(f"'{answer}' is not a number") from None


QUESTIONS = (
    Question(
        "platform",
        "Which server? A known platform (skipline platforms), or a file of skipline-host calibrate",
        "skylake-gold-6140",
        _server,
    ),
    Question("nic", "Which network card? own is the one that the platform has", "own", _card),
    Question("cores", "How many cores forward packets?", "1", _whole, 1),
    Question("packet_bytes", "How large is a packet, in bytes?", "1500", _whole, 1500),
    Question("offered_gbps", "How much arrives at a port, in Gbit/s?", "25", _number, 1),
    Question("rx_descriptors", "How many descriptors has each receive ring?", "1024", _whole, 64),
)


def cards() -> list[str]:
    """Return the names of the known network cards."""
    files = (Path(path) for path in _core.builtin_files() if path.startswith(_CARDS))
    return sorted(path.stem for path in files if path.suffix == ".toml")


class Answers:
    """The answers so far, for a scenario at `target`, from whose folder files are named."""

    def __init__(self, target: Path) -> None:
        self._folder = target.absolute().parent
        self._name = target.name
        self._values: dict[str, Value] = {}

    def give(self, question: Question, answer: str) -> None:
        """Take an answer, an empty one for the default; InputError says what is wrong with it."""
        value = question.read(answer.strip() or question.default)
        values = {**self._values, question.key: value}
        self._check(values)
        self._values = values

    def text(self) -> str:
        """Return the scenario."""
        return _text({key: self._named(value) for key, value in self._values.items()})

    def _named(self, value: Value) -> Value:
        """Return a value as the file has it: a path as seen from its folder."""
        if isinstance(value, str) and Path(value).is_file():
            return os.path.relpath(value, self._folder)
        return value

    def _check(self, values: Mapping[str, Value]) -> None:
        """Let the simulator judge what is known so far."""
        values = {**{question.key: question.meanwhile for question in QUESTIONS}, **values}
        absolute = {
            key: str(Path(value).absolute())
            if isinstance(value, str) and Path(value).is_file()
            else value
            for key, value in values.items()
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self._name
            atomic.write(path, _text(absolute))
            try:
                _core.check_scenario(path, [])
            except InputError as error:
                raise InputError(str(error).removeprefix(f"{path}: ")) from None


def _text(values: Mapping[str, Value]) -> str:
    stated = {"application": "l2-forward", **values}
    first = ("platform", "nic", "application")
    order = [*(key for key in first if key in stated), *(k for k in stated if k not in first)]
    lines = [f"{key} = {toml_literal(stated[key])}" for key in order if stated[key] is not None]
    return f"{_HEAD}{chr(10).join(lines)}\n"
