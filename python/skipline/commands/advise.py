"""`skipline advise`."""

import json
import os
import re
import time
from pathlib import Path

import click

from skipline._core import InputError
from skipline.commands import options as shared
from skipline.commands import suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import terminal

_GOALS = ("p99", "throughput", "isolation", "memory-bandwidth", "energy-free-cores")
_BUDGET = re.compile(r"(?P<number>\d+)(?P<unit>s|m|h)?")
# Ticks from the boot of the system to the start of a process, among the fields after its name.
_STARTED = 19
_SECONDS = {"s": 1, "m": 60, "h": 3600}


@click.command(
    cls=Command,
    extra="advise",
    examples=[
        "skipline advise examples/large-ring.toml --goal p99",
        "skipline advise experiments/atc20/two-nics-scenario.toml --goal p99 \\\n"
        "  --constraint 'low-priority:p99<=1.1x' --budget 10m",
        "skipline advise examples/large-ring.toml --goal memory-bandwidth \\\n"
        "  --knobs rx_descriptors,ddio_ways --format json",
    ],
)
@click.argument(
    "scenario",
    metavar="SCENARIO",
    help="Scenario as it is set now.",
    shell_complete=suggestions.scenarios,
)
@click.option("--goal", type=click.Choice(_GOALS), required=True, help="What is to become better.")
@click.option("--knobs", metavar="KEY,...", default="", help="What may change; default: all.")
@click.option(
    "--constraint",
    "constraints",
    metavar="BOUND",
    multiple=True,
    help="NAME<=FACTORx or NAME>=FACTORx of what it is now; repeatable.",
)
@click.option(
    "--budget", metavar="N|TIME", help="Settings to try, or time for the whole: 40, 90s, 10m, 1h."
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Replace a scenario key, which then stays; repeatable.",
    shell_complete=suggestions.settings,
)
@click.option(
    "--store", metavar="FILE", help="Keep what is simulated, and take from there what is."
)
@click.option(
    "--all", "everything", is_flag=True, help="Also smaller gains and published guidelines."
)
@shared.jobs
@shared.seed
@shared.output
def advise(  # noqa: PLR0913, PLR0917 - one argument for each option
    scenario: str,
    goal: str,
    knobs: str,
    constraints: tuple[str, ...],
    budget: str | None,
    settings: tuple[str, ...],
    store: str | None,
    everything: bool,
    jobs: int | None,
    seed: int | None,
    output: Format,
) -> None:
    """Find settings of a machine that reach a goal; say what each brings, and what it costs."""
    from skipline import _core
    from skipline.diff import bound
    from skipline.scenarios import names
    from skipline.scenarios.settings import parse_settings
    from skipline.store import opening
    from skipline.sweeps.engine import parse_engine

    scenario = names.path_of(scenario)
    bounds = tuple(bound.parse(text, "--constraint") for text in constraints)
    fixed = tuple(parse_settings(list(settings)))
    _core.check_scenario(scenario, list(fixed))
    number, time_s = _limits(budget)
    if store is not None:
        opening.check_file(store, write=True)
    words = tuple(word.strip() for word in knobs.split(",") if word.strip())
    from skipline.advice.advice import Request
    from skipline.advice.advice import advise as search
    from skipline.advice.goal import Goal
    from skipline.store.writing import Writer
    from skipline.sweeps.drive import Interrupted, Options

    request = Request(
        scenario,
        fixed,
        Goal(goal),
        words,
        bounds,
        number,
        time_s,
        1 if seed is None else seed,
        _age_s(),
    )
    try:
        with Writer(store) as writer, terminal.progress_bar("advise", lines=True) as bar:
            if time_s is not None:
                bar.expect(time_s)
            advice = search(request, writer, Options(parse_engine("local", jobs)), bar.update)
    except Interrupted:
        kept = f"what is simulated is kept in {store}" if store else "nothing was kept; see --store"
        raise terminal.Interrupted(kept) from None
    from skipline.advice import view

    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps(view.as_json(advice), indent=1))
        case Format.CSV:
            terminal.emit(view.parts_table(advice.parts).as_csv())
        case Format.TABLE:
            terminal.show(*view.overview(advice, everything=everything))


def _age_s() -> float:
    """Return for how many seconds this process has run; 0 where the system does not say."""
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        began_s = int(fields[_STARTED]) / os.sysconf("SC_CLK_TCK")
        return max(time.clock_gettime(time.CLOCK_BOOTTIME) - began_s, 0.0)
    except (AttributeError, IndexError, OSError, ValueError):
        return 0.0


def _limits(budget: str | None) -> tuple[int | None, float | None]:
    """Read how many settings may be tried, or for how many seconds."""
    if budget is None:
        return None, None
    found = _BUDGET.fullmatch(budget.strip())
    if found is None or int(found["number"]) < 1:
        raise InputError(f"--budget '{budget}': a number of settings, or a time: 40, 90s, 10m, 1h")
    if found["unit"] is None:
        return int(found["number"]), None
    return None, float(int(found["number"]) * _SECONDS[found["unit"]])
