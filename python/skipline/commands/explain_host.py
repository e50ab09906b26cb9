"""`skipline explain-host`."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

if TYPE_CHECKING:
    from skipline.advice.advice import Advice
    from skipline.host.dry_runs import DryRun
    from skipline.host.explanation import Explanation

_REPEATS = 3
_SECONDS = 10
# Settings that a server can change while it runs.
_KNOBS = ("ddio_ways", "rx_descriptors")
_BUDGET = 8


@click.command(
    cls=Command,
    extra="advise",
    examples=[
        "skipline explain-host",
        "skipline explain-host observed.toml --set rx_descriptors=2048",
        "skipline explain-host after.toml --before observed.toml",
        "skipline explain-host observed.toml --no-advice --format json",
    ],
)
@click.argument(
    "file",
    metavar="[OBSERVED.toml]",
    required=False,
    type=click.Path(path_type=Path),
    help="Scenario of `skipline-host observe`; default: this machine is observed.",
    shell_complete=suggestions.toml_files,
)
@click.option(
    "--windows",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Windows of its counters; default: OBSERVED.windows.jsonl.",
)
@click.option(
    "--before",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Observation before a change: both beside the prediction.",
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A value that you know; repeatable.",
    shell_complete=suggestions.settings,
)
@click.option(
    "--repeats",
    metavar="R",
    type=click.IntRange(min=1),
    default=_REPEATS,
    help=f"Seeds to simulate with; default: {_REPEATS}.",
)
@click.option(
    "--seconds",
    metavar="S",
    type=click.IntRange(min=1, max=3600),
    help=f"Time to observe without a file; default: {_SECONDS}.",
)
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Tree that stands in for the machine, without a file.",
)
@click.option(
    "--advice/--no-advice",
    "with_advice",
    default=True,
    help="Look for better settings, if something leaks or is dropped.",
)
@options.seed
@options.output
def explain_host(  # noqa: PLR0913, PLR0917 - one argument for each option
    file: Path | None,
    windows: Path | None,
    before: Path | None,
    settings: tuple[str, ...],
    repeats: int,
    seconds: int | None,
    root: Path | None,
    with_advice: bool,
    seed: int | None,
    output: Format,
) -> None:
    """Say what leaks and what limits on a server, and what would help.

    Simulates what `skipline-host observe` has seen and compares it with the counters of its window.
    Where both disagree, that comes first. Settings that would help are dry runs of skipline-host.
    """
    from skipline.runs import seeds

    _check(file, windows, before, seconds, root)
    with tempfile.TemporaryDirectory() as folder:
        observed = file or _observe(Path(folder), root, seconds or _SECONDS, settings)
        _explain(
            (observed, windows, before),
            # What is not observed is answered when it is simulated.
            settings if file else (),
            seeds.of_repeats(seeds.FIRST if seed is None else seed, repeats),
            with_advice,
            output,
            # Only the machine that was observed just now says what a change of it would be.
            _Asked(root) if file is None else None,
        )


class _Asked(NamedTuple):
    """The machine that dry runs are asked for; `root`: the tree that stands in for it."""

    root: Path | None


def _check(
    file: Path | None,
    windows: Path | None,
    before: Path | None,
    seconds: int | None,
    root: Path | None,
) -> None:
    """Refuse files that are not there, and options without effect."""
    for named in (file, before):
        if named is not None and not named.is_file():
            raise InputError(
                f"{named}: no such file; `skipline-host observe --out {named}` writes it"
            )
    if file is None:
        for option, given in (("--windows", windows), ("--before", before)):
            if given is not None:
                raise InputError(f"{option}: has no effect without OBSERVED.toml")
        return
    for name, value in (("--seconds", seconds), ("--root", root)):
        if value is not None:
            raise InputError(
                f"{name} {value}: has no effect with {file}, which is not observed now"
            )


def _observe(folder: Path, root: Path | None, seconds: int, settings: tuple[str, ...]) -> Path:
    """Observe this machine, or the tree that stands in for it."""
    from skipline.host import binary

    out = folder / "observed.toml"
    tree = [] if root is None else ["--root", str(root)]
    stated = [word for setting in settings for word in ("--set", setting)]
    terminal.note(f"observing for {seconds} s")
    arguments = ["--seconds", str(seconds), "--out", str(out), "--format", "json", *stated]
    binary.output([*tree, "observe", *arguments])
    return out


def _explain(
    files: tuple[Path, Path | None, Path | None],
    settings: tuple[str, ...],
    seeds: range,
    with_advice: bool,
    output: Format,
    asked: _Asked | None,
) -> None:
    from skipline.host import explanation, explanation_view
    from skipline.scenarios.settings import parse_settings

    file, windows, before = files
    pairs = parse_settings(list(settings))
    share = 0.5 if before else 1.0
    with terminal.progress_bar("simulating") as bar:
        earlier = None
        if before:
            earlier = explanation.explain(
                str(before), pairs, None, seeds, lambda done: bar.update(share * done)
            )
        explained = explanation.explain(
            str(file), pairs, windows, seeds, lambda done: bar.update(1 - share + share * done)
        )
    advice = None
    if with_advice and before is None and not explained.is_well:
        advice = _advise(explained, tuple(pairs), seeds.start)
    dry_runs = _dry_runs(advice, asked)
    match output:
        case Format.JSON:
            told = _as_json(explained, earlier, advice, dry_runs)
            terminal.emit_json(json.dumps(told, indent=1))
        case Format.CSV:
            terminal.emit(explanation_view.numbers(explained).as_csv())
        case Format.TABLE:
            if earlier:
                terminal.show(*explanation_view.change(earlier, explained))
                return
            terminal.show(*explanation_view.overview(explained))
            if advice:
                from skipline.advice import view

                terminal.show("", "What would help, as dry runs", *view.overview(advice))
            for one in dry_runs:
                terminal.show("", f"$ {one.command}", one.text)


def _dry_runs(advice: "Advice | None", asked: _Asked | None) -> "list[DryRun]":
    """Ask the observed machine what the advice would change; nothing is applied."""
    from skipline.host import dry_runs

    return dry_runs.of_advice(advice, asked.root) if advice and asked else []


def _advise(
    explained: "Explanation", fixed: tuple[tuple[str, str], ...], seed: int
) -> "Advice | None":
    """Search a few settings that a running server can change; None if the scenario has none."""
    from skipline.advice.advice import Request, advise
    from skipline.advice.goal import Goal
    from skipline.store.writing import Writer
    from skipline.sweeps.drive import Options
    from skipline.sweeps.engine import parse_engine

    stated = {key for key, _ in fixed}
    knobs = tuple(key for key in _KNOBS if key not in stated)
    goal = Goal.MEMORY_BANDWIDTH
    request = Request(explained.scenario, fixed, goal, knobs, (), _BUDGET, None, seed)
    try:
        with Writer(None) as writer, terminal.progress_bar("advise") as bar:
            return advise(request, writer, Options(parse_engine("local", None)), bar.update)
    except InputError as error:
        terminal.note(f"no advice: {error}")
        return None


def _as_json(
    explained: "Explanation",
    earlier: "Explanation | None",
    advice: "Advice | None",
    dry_runs: "list[DryRun]",
) -> dict[str, object]:
    from skipline.advice import view

    told: dict[str, object] = {**explained.as_json(), "advice": None}
    told["dry_runs"] = [one._asdict() for one in dry_runs]
    if advice is not None:
        told["advice"] = view.as_json(advice)
    if earlier is not None:
        told["before"] = earlier.as_json()
    return told
