"""`skipline sweep`."""

import click

from skipline.commands import options as shared
from skipline.commands import suggestions
from skipline.commands.command import Command
from skipline.text import terminal

DEFAULT_STORE = "results.duckdb"


@click.command(
    cls=Command,
    extra="sweeps",
    examples=[
        "skipline sweep experiments/ddio-bench/l2fwd.toml \\\n"
        "  --axis rx_descriptors=256..4096:log:5 --axis ddio_ways=2,4,6",
        "skipline sweep experiments/ddio-bench/l2fwd.toml --sobol 64 --repeats 3 \\\n"
        "  --axis rx_descriptors=64..4096:log --axis offered_gbps=10..100",
        "skipline sweep rings.toml --engine ray://head:10001 --store rings.duckdb",
    ],
)
@click.argument(
    "scenario",
    metavar="SCENARIO",
    help="Scenario, or sweep file (docs/how-to/sweeps.md).",
    shell_complete=suggestions.scenarios,
)
@click.option(
    "--axis",
    "axes",
    metavar="KEY=VALUES",
    multiple=True,
    help="a,b,c or lo..hi:log:8, :lin:8, :step:64; repeatable.",
    shell_complete=suggestions.settings,
)
@click.option(
    "--axis-file", metavar="CSV", help="Points of several keys: a key per column, a point per row."
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Replace a scenario key at all points; repeatable.",
    shell_complete=suggestions.settings,
)
@click.option(
    "--random", metavar="N", type=click.IntRange(min=1), help="N points at random, not all."
)
@click.option(
    "--sobol", metavar="N", type=click.IntRange(min=1), help="N points of a Sobol sequence."
)
@click.option(
    "--repeats", metavar="R", type=click.IntRange(min=1), help="Seeds per point; default: 1."
)
@shared.seed
@click.option(
    "--store",
    metavar="FILE",
    default=DEFAULT_STORE,
    show_default=True,
    help="Where results are kept; what is there is not run again.",
)
@click.option(
    "--engine",
    metavar="ENGINE",
    default="local",
    help="local (default), ray, or ray://HOST:PORT.",
)
@shared.jobs
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Simulate at most N points now."
)
@click.option("--first-failure", is_flag=True, help="Stop at the first point that fails.")
@click.option("--retry-failed", is_flag=True, help="Simulate failed points again.")
@click.option("--resume", is_flag=True, hidden=True, help="The default; for older scripts.")
def sweep(  # noqa: PLR0913, PLR0917 - one argument for each option
    scenario: str,
    axes: tuple[str, ...],
    axis_file: str | None,
    settings: tuple[str, ...],
    random: int | None,
    sobol: int | None,
    repeats: int | None,
    seed: int | None,
    store: str,
    engine: str,
    jobs: int | None,
    limit: int | None,
    first_failure: bool,
    retry_failed: bool,
    resume: bool,  # noqa: ARG001 - always so
) -> None:
    """Simulate a scenario at many points, on all cores or a cluster; keep what is finished."""
    from skipline.scenarios import names
    from skipline.scenarios.settings import parse_settings
    from skipline.store import opening
    from skipline.sweeps import axis, definition, design
    from skipline.sweeps.engine import parse_engine

    scenario = names.path_of(scenario)
    found = [axis.parse(text) for text in axes]
    found += [design.from_table(axis_file)] if axis_file else []
    requested = definition.extend(definition.read(scenario), found, parse_settings(list(settings)))
    requested = definition.with_seeds(requested, seed, repeats)
    requested = definition.with_sample(requested, random, sobol, "sweep")
    runs = requested.check()
    opening.check_file(store, write=True)
    opening.require_room(store, runs)
    used = parse_engine(engine, jobs)
    from skipline.sweeps.drive import Interrupted, Options, run

    try:
        with terminal.progress_bar("sweep", lines=True) as bar:
            options = Options(used, limit, first_failure, retry_failed, reckon=bar.reckon)
            summary = run(requested, store, options, bar.update)
    except Interrupted as interruption:
        raise terminal.Interrupted(
            f"{interruption.summary.summary_line(store)}; the same command goes on from there"
        ) from None
    terminal.emit_for_people(
        f"{summary.summary_line(store)}; to see them: skipline store show {store}"
    )
    if summary.first_error:
        terminal.complain(f"{summary.new['failed']:,} points failed; first: {summary.first_error}")
        raise click.exceptions.Exit(1)
