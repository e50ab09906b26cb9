"""The points of a sweep with their identities: what has to be simulated, what cannot be."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

from skipline._core import InputError
from skipline.runs import identity
from skipline.store.writing import Member, SweepIdentity
from skipline.sweeps.axis import parse_value
from skipline.sweeps.definition import Definition
from skipline.sweeps.design import Settings
from skipline.sweeps.simulate import Request


class Plan(NamedTuple):
    """All runs of a sweep in order; `refused` has why a run cannot be, by its question."""

    head: SweepIdentity
    requests: list[Request]
    members: list[Member]
    refused: dict[str, str]


class _Point(NamedTuple):
    settings: Settings
    inputs: identity.Inputs | None
    fault: str


def sweep_identity(definition: Definition) -> SweepIdentity:
    """Return what finds the same sweep again: the same axes of the same scenario file."""
    base = identity.inputs(definition.scenario, list(definition.fixed))
    digest = identity.digest(repr(replace(definition, title="")), base.resolved)
    return SweepIdentity(digest, definition.title, definition.scenario, definition.keys, base.files)


def plan(
    definition: Definition,
    known: Callable[[str], list[str] | None],
    jobs: int,
    progress: Callable[[float], None],
    *,
    impossible_values: bool = False,
) -> Plan:
    """Resolve every point; `known` returns the questions of a sweep that was planned before.

    InputError if no point can be with some value of an axis, unless there may be such values.
    """
    head = sweep_identity(definition)
    points = list(definition.points())
    questions = known(head.digest)
    if questions is not None and len(questions) == len(points) * definition.repeats:
        return _assembled(definition, head, points, iter(questions).__next__, {})
    resolved = _resolve(definition, points, jobs, progress)
    if not impossible_values:
        _require_possible(resolved)
    files = dict(head.files)
    refused: dict[str, str] = {}
    found: list[str] = []
    for point in resolved:
        if point.inputs is not None:
            files |= point.inputs.files
        for seed in definition.seeds:
            question = _question(definition, point, seed)
            found.append(question)
            if point.inputs is None:
                refused[question] = point.fault
    return _assembled(definition, head._replace(files=files), points, iter(found).__next__, refused)


def _resolve(
    definition: Definition, points: list[Settings], jobs: int, progress: Callable[[float], None]
) -> list[_Point]:
    # All points see the same content; a worker that finds another one refuses its points.
    files = identity.Files()

    def resolve(settings: Settings) -> _Point:
        try:
            pairs = [*definition.fixed, *settings]
            return _Point(settings, identity.inputs(definition.scenario, pairs, files), "")
        except InputError as error:
            return _Point(settings, None, str(error))

    found = []
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for point in pool.map(resolve, points):
                found.append(point)
                progress(len(found) / len(points))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _require_possible(points: list[_Point]) -> None:
    """Refuse a value with which no point can be: it is a mistake, not a corner of the sweep."""
    possible = {pair for point in points if point.inputs is not None for pair in point.settings}
    for point in points:
        if point.inputs is None:
            for key, value in point.settings:
                if (key, value) not in possible:
                    raise InputError(f"axis value {key}={value}: {point.fault}")


def _question(definition: Definition, point: _Point, seed: int) -> str:
    if point.inputs is not None:
        return point.inputs.question(seed)
    pairs = [*definition.fixed, *point.settings]
    return identity.digest("refused", definition.scenario, pairs, seed, point.fault)


def _assembled(
    definition: Definition,
    head: SweepIdentity,
    points: list[Settings],
    next_question: Callable[[], str],
    refused: dict[str, str],
) -> Plan:
    requests, members = [], []
    for settings in points:
        pairs = [*definition.fixed, *settings]
        axes = {key: parse_value(value) for key, value in settings}
        for seed in definition.seeds:
            question = next_question()
            requests.append(Request(question, definition.scenario, pairs, seed))
            members.append(Member(question, seed, axes))
    return Plan(head, requests, members, refused)
