"""`skipline experiment list | show | run`."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Group
from skipline.commands.options import Format
from skipline.text import csv_text, terminal

if TYPE_CHECKING:
    from skipline.experiment.outcome import Outcome
    from skipline.experiment.preparation import Prepared


@click.group(
    cls=Group,
    extra="sweeps",
    no_args_is_help=True,
    examples=[
        "skipline experiment list figure 10 of atc20",
        "skipline experiment show pktsize-desc",
        "skipline experiment run ddio-tune",
    ],
)
def experiment() -> None:
    """Compare published experiments with the simulation: predicted beside measured."""


@experiment.command(
    "list",
    examples=[
        "skipline experiment list",
        "skipline experiment list figure 10 of atc20",
        "skipline experiment list copy engines --format csv",
    ],
)
@click.argument(
    "words",
    metavar="[WORD...]",
    nargs=-1,
    help="Words of the question, a source (atc20), a figure (figure 10).",
)
@options.output
def list_all(words: tuple[str, ...], output: Format) -> None:
    """List the experiments, built in and below ./experiments: all, or those with some words."""
    from skipline.experiment import catalogue, finding, view

    entries = catalogue.entries()
    if words:
        text = " ".join(words)
        entries = finding.matching(entries, text)
        if not entries:
            raise InputError(
                f"'{text}': no experiment has all of these words; skipline experiment list"
            )
    rows = [
        {
            "id": entry.identifier,
            "source": finding.short_source(entry),
            "points": view.point_count(entry),
            "question": entry.experiment.question,
            "path": entry.path,
        }
        for entry in entries
    ]
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps({"experiments": rows}, indent=1))
        case Format.CSV:
            terminal.emit(_as_csv(["id", "source", "points", "question", "path"], rows))
        case Format.TABLE:
            terminal.show(view.listing(entries))


@experiment.command(
    "show",
    examples=[
        "skipline experiment show pktsize-desc",
        "skipline experiment show experiments/atc20/pause.toml --format csv",
    ],
)
@click.argument(
    "name", metavar="ID", help="Identifier or TOML file.", shell_complete=suggestions.experiments
)
@options.output
def show(name: str, output: Format) -> None:
    """Show an experiment: question, points, checks, reference."""
    from skipline.experiment import catalogue

    entry = catalogue.find(name)
    from skipline.experiment import view
    from skipline.experiment.points import points

    found = points(entry)
    settings = [{**point.settings, "basis": point.basis} for point in found]
    match output:
        case Format.JSON:
            definition = entry.experiment.model_dump(mode="json")
            whole = {"id": entry.identifier, "path": entry.path, **definition, "points": settings}
            terminal.emit_json(json.dumps(whole, indent=1))
        case Format.CSV:
            terminal.emit(_as_csv([*found[0].settings, "basis"], settings))
        case Format.TABLE:
            terminal.show(view.definition(entry, found))


@experiment.command(
    "run",
    extra="reports",
    examples=[
        "skipline experiment run ddio-tune",
        "skipline experiment run pktsize-desc ddio-tune --jobs 4",
        "skipline experiment run ddio-tune --seed 7 --out reports/seed-7",
        "skipline experiment run ddio-tune --format csv > ddio-tune.csv",
    ],
)
@click.argument(
    "names",
    metavar="ID...",
    nargs=-1,
    required=True,
    help="Identifiers or TOML files.",
    shell_complete=suggestions.experiments,
)
@options.jobs
@options.seed
@options.output
@options.out("Results; default: reports/ID. Of several: OUT/ID.", "OUT")
def run(
    names: tuple[str, ...], jobs: int | None, seed: int | None, output: Format, out: Path | None
) -> None:
    """Simulate all points beside the measured ones; write tables and an HTML report."""
    done = [_run(prepared, seed, jobs) for prepared in _prepare(names, seed, out)]
    outcomes = [entry.outcome for entry in done]
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps(_as_json(outcomes)))
        case Format.CSV:
            import polars as pl

            tables = [concluded.table for concluded in outcomes]
            terminal.emit(csv_text.from_frame(pl.concat(tables, how="diagonal")))
        case Format.TABLE:
            from skipline.experiment import view

            terminal.show(view.overview(outcomes, [_note(entry) for entry in done]))


class _Done(NamedTuple):
    """An experiment that has run; `reused` points were kept from before."""

    prepared: "Prepared"
    outcome: "Outcome"
    reused: int


def _prepare(names: Iterable[str], seed: int | None, out: Path | None) -> list["Prepared"]:
    """Refuse what is wrong with any of the experiments before the first of them runs."""
    from skipline.experiment import catalogue

    entries = [catalogue.find(name) for name in dict.fromkeys(names)]
    from skipline.experiment import preparation

    folder = preparation.DEFAULT_FOLDER if out is None else out
    below = out is None or len(entries) > 1
    found = []
    for entry in entries:
        directory = folder / entry.identifier if below else folder
        found.append(preparation.prepare(entry, seed, directory))
    if former := preparation.former_points(Path(one.batch.store) for one in found):
        terminal.note(former)
    return found


def _run(prepared: "Prepared", seed: int | None, jobs: int | None) -> _Done:
    from skipline.experiment import rounds
    from skipline.report import experiment_directory

    try:
        with terminal.progress_bar(prepared.entry.identifier, lines=True) as bar:
            (ran,) = rounds.run([prepared], jobs or os.cpu_count() or 1, bar)
        concluded = experiment_directory.conclude(prepared, ran, seed)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished points are kept in {prepared.batch.store}; the next run goes on from there"
        ) from None
    return _Done(prepared, concluded, ran.reused)


def _as_json(outcomes: list["Outcome"]) -> dict[str, Any]:
    from skipline.experiment import together

    if len(outcomes) == 1:
        return outcomes[0].as_json()
    return {
        "experiments": [concluded.as_json() for concluded in outcomes],
        "together": together.combine(outcomes).model_dump(mode="json"),
    }


def _as_csv(columns: list[str], rows: Iterable[dict[str, Any]]) -> str:
    return csv_text.from_rows(columns, ([row.get(name, "") for name in columns] for row in rows))


def _note(done: _Done) -> tuple[str, str]:
    from skipline.experiment.files import REPORT_FILE

    simulated = len(done.prepared.batch.points) - done.reused
    facts = [
        f"{simulated} points simulated, {done.reused} reused",
        done.outcome.unsettled,
        f"tables in {done.prepared.directory}",
    ]
    return (
        "; ".join(fact for fact in facts if fact),
        str((done.prepared.directory / REPORT_FILE).resolve()),
    )
