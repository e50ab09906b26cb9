"""Reads the sides of a comparison: a result, a store of sweeps, a scenario, or a recording."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from skipline import _core, resources
from skipline._core import InputError
from skipline.diff.side import LINE_RATES, SINGLE, Axes, Figure, Run, Side
from skipline.store import parts

if TYPE_CHECKING:
    from skipline.runs.result import Result

RESULT_FILE = "result.json"
Progress = Callable[[float], None]


class Request(NamedTuple):
    """A side that is asked for; `overrides` are settings of a scenario."""

    path: str
    kind: str
    overrides: list[tuple[str, str]]


def parse_request(path: str, overrides: list[tuple[str, str]]) -> Request:
    """Return what is asked for, after a first look at it; InputError for bad input."""
    found = Request(path, kind(path), overrides)
    if found.kind == "scenario":
        _core.check_scenario(path, overrides)
    elif overrides:
        raise InputError(f"{path}: settings are for scenarios; this is a {found.kind}")
    return found


class Choice(NamedTuple):
    """The part of a side to read: seeds of a scenario, sweep of a store, socket of a recording."""

    seeds: range
    sweep: int | None = None
    socket: int | None = None


def read(request: Request, choice: Choice, progress: Progress) -> Side:
    """Read a side; a scenario is simulated with each of the seeds."""
    match request.kind:
        case "recording":
            from skipline.diff import recording

            return recording.of_recording(request.path, choice.socket)
        case "scenario":
            return of_scenario(request.path, request.overrides, choice.seeds, progress)
        case "store":
            return of_store(request.path, choice.sweep)
        case _:
            return of_result(request.path)


def kind(path: str) -> str:
    """Return the kind of a path: result, store, scenario or recording; InputError if none."""
    if path.endswith(".toml"):
        return "scenario"
    file = Path(path)
    if _core.is_pipe(path):
        return _kind_of_text(resources.read_text(path))
    if not file.exists():
        raise InputError(f"{path}: no such file; name a result.json, a store, or a scenario.toml")
    if file.is_dir():
        if not (file / RESULT_FILE).is_file():
            raise InputError(f"{path}: no {RESULT_FILE} of `skipline run --out` in this directory")
        return "result"
    if parts.is_store(path):
        return "store"
    from skipline.diff import recording

    return "recording" if recording.is_recording(file) else "result"


def _kind_of_text(text: str) -> str:
    """Return the kind of what a pipe gave, which has no name that tells it."""
    from skipline.diff import recording

    if recording.begins(text):
        return "recording"
    return "result" if text.lstrip().startswith("{") else "scenario"


def of_result(path: str) -> Side:
    """Read the result of one run."""
    from skipline.runs import result

    file = Path(path) / RESULT_FILE if Path(path).is_dir() else Path(path)
    found = result.parse(resources.read_text(str(file)), str(file))
    origin = {"platform": found.platform, "version": found.version}
    return _of_runs(path, [found], found.scenario, origin)


def of_scenario(
    path: str, overrides: Sequence[tuple[str, str]], seeds: range, progress: Progress
) -> Side:
    """Simulate a scenario with each of the seeds."""
    from skipline.runs import result
    from skipline.runs import seeds as side_by_side

    pairs = list(overrides)
    resolved = json.loads(_core.check_scenario(path, pairs))
    texts = side_by_side.run(path, pairs, seeds, progress)
    found = [result.parse(text, path) for text in texts]
    stated = ", ".join(f"{key}={value}" for key, value in pairs)
    return of_results(f"{path} ({stated})" if stated else path, found, resolved)


def of_results(name: str, found: "Sequence[Result]", settings: dict[str, Any]) -> Side:
    """Return a side of results of one scenario, each with another seed."""
    origin = {"platform": found[0].platform, "version": found[0].version}
    return _of_runs(name, found, settings, origin)


def _of_runs(
    name: str, found: "Sequence[Any]", settings: dict[str, Any], origin: dict[str, str]
) -> Side:
    runs: dict[int, Run] = {}
    units: dict[str, str] = {}
    for one in found:
        entries = [entry for entry in one.entries() if entry.value is not None]
        runs[one.seed] = {_name(e.metric, e.component): Figure(e.value, e.ci95) for e in entries}
        units |= {_name(entry.metric, entry.component): entry.unit for entry in entries}
        runs[one.seed] |= _line_rates(runs[one.seed], one.simulated_ns - one.warmup_ns)
    units |= dict.fromkeys(LINE_RATES, "1/s")
    return Side(name, {SINGLE: runs}, units, settings, origin, is_store=False)


def _line_rates(run: Run, measured_ns: float) -> Run:
    return {
        name: Figure(1e9 * sum(run[count].value for count in counts) / measured_ns, None)
        for name, counts in LINE_RATES.items()
        if all(count in run for count in counts)
    }


def of_store(path: str, sweep: int | None) -> Side:
    """Read the finished points of a sweep."""
    from skipline.store.store import Store

    with Store(path) as store:
        number = store.number(sweep)
        found = store.connection.batches(
            "SELECT axes, seed, concat_ws('.', metric, component), value, ci95, unit FROM results "
            "WHERE sweep = ? AND NOT stale AND value IS NOT NULL ORDER BY ordinal",
            [number],
        )
        runs: dict[Axes, dict[int, Run]] = {}
        units: dict[str, str] = {}
        for rows in found:
            for axes, seed, name, value, ci95, unit in rows:
                figures = runs.setdefault(axes, {}).setdefault(seed, {})
                figures[name] = Figure(value, ci95)
                units[name] = unit
        settings, origin = _settings_and_origin(store, number)
    return Side(path, runs, units, settings, origin, is_store=True)


def _settings_and_origin(store: Any, number: int) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the settings that all points of a sweep share, and where they come from."""
    row = store.connection.row(
        "SELECT any_value(scenario), any_value(settings), any_value(platform), "
        "any_value(version), any_value(simulator) FROM answers "
        "WHERE sweep = ? AND status = 'done' AND NOT stale",
        [number],
    )
    if row is None or row[1] is None:
        raise InputError(f"{store.path}: sweep {number}: none of its points is done")
    scenario, settings, platform, version, simulator = row
    keys = set(store.keys(number))
    shared = {key: value for key, value in json.loads(settings) if key not in keys}
    origin = {"platform": platform, "version": version, "simulator": simulator}
    return {"scenario": scenario, **shared}, origin


def _name(metric: str, component: str | None) -> str:
    return metric if component is None else f"{metric}.{component}"
