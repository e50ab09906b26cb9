"""The command line: only wiring. Each command's work is in the module of its name."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from skipline import _core, terminal
from skipline._core import InputError, RunError


class Format(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class TraceFormat(StrEnum):
    """Formats of address traces."""

    DIN = "din"
    LACKEY = "lackey"
    CHAMPSIM = "champsim"
    RAW64 = "raw64"


class SchemaKind(StrEnum):
    """Files that have a JSON schema."""

    SCENARIO = "scenario"
    PLATFORM = "platform"
    RESULT = "result"


app = typer.Typer(
    help="Predict where I/O data goes in a server: DDIO, last-level cache, DRAM.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
experiments = typer.Typer(
    help="Published experiments: predicted beside measured.", no_args_is_help=True
)
platforms = typer.Typer(help="Facts about machines, each with its source.")
host = typer.Typer(help="The real machine (skipline-host).", no_args_is_help=True)
app.add_typer(experiments, name="experiment")
app.add_typer(host, name="host")
app.add_typer(platforms, name="platforms")

Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a scenario key; repeatable."),
]


def _in_64_bits(value: int | None) -> int | None:
    """Refuse what the simulator has no room for."""
    if value is not None and not 0 <= value < 1 << 64:
        raise typer.BadParameter(f"{value} is not a whole number from 0 to 2^64 - 1")
    return value


def _address(text: str) -> int:
    """Read a physical address, decimal or hexadecimal."""
    try:
        address = int(text, 0)
    except ValueError:
        raise typer.BadParameter(f"{text} is not an address, like 0x1f40 or 8000") from None
    if not 0 <= address < 256 << 30:
        raise typer.BadParameter(f"{text} is not in the simulated memory: 0 to 256 GiB")
    return address


Seed = Annotated[
    int | None, typer.Option(metavar="N", callback=_in_64_bits, help="Seed; default: 1.")
]
Jobs = Annotated[int | None, typer.Option(min=1, help="Points at a time; default: all cores.")]
Output = Annotated[Format, typer.Option("--format", help="For people or for programs.")]


@app.callback(invoke_without_command=True)
def skipline(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Predict where I/O data goes in a server: DDIO, last-level cache, DRAM."""
    if version:
        terminal.emit(f"skipline {_core.version()}")
        raise typer.Exit


@app.command()
def run(  # noqa: PLR0913, PLR0917 - one argument for each option
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help="Scenario file, on disk or built in.")
    ],
    settings: Settings = None,
    seed: Seed = None,
    output: Output = Format.TABLE,
    out: Annotated[Path | None, typer.Option(help="Also write DIR/result.json.")] = None,
    explain: Annotated[
        bool, typer.Option(help="Who evicted whom, read or not; why requests missed the LLC.")
    ] = False,
    trace_packet: Annotated[
        int | None,
        typer.Option(metavar="N", callback=_in_64_bits, help="Print packet N line by line."),
    ] = None,
    trace_line: Annotated[
        int | None,
        typer.Option(
            metavar="ADDRESS", parser=_address, help="Print the story of the line at ADDRESS."
        ),
    ] = None,
) -> None:
    """Simulate one scenario."""
    from skipline import run_command

    request = run_command.Request(
        scenario, settings or [], seed, out, explain, trace_packet, trace_line
    )
    run_command.execute(request, output.value)


@app.command()
def trace(  # noqa: PLR0913, PLR0917 - one argument for each option
    file: Annotated[
        str | None, typer.Argument(metavar="FILE", help="Address trace, - for standard input.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="Platform file, or name of a known platform; default with --standard: "
            "three-level-lru.",
        ),
    ] = None,
    trace_format: Annotated[
        TraceFormat | None, typer.Option(help="Format; default: by name or content.")
    ] = None,
    standard: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead of FILE a standard trace: 4mib- or 64mib-, sequential or random.",
        ),
    ] = None,
    output: Output = Format.TABLE,
    explain: Annotated[
        bool, typer.Option(help="Why lines missed: compulsory, capacity, conflict.")
    ] = False,
    timed: Annotated[
        bool, typer.Option(help="Also how long the machine takes; slower by far.")
    ] = False,
    seed: Seed = None,
) -> None:
    """Replay an address trace through a machine: hits, misses, write-backs per level."""
    from skipline import trace_command
    from skipline.replay import Wanted

    chosen = None if trace_format is None else trace_format.value
    wanted = Wanted(timed, explain, seed)
    request = trace_command.Request(file, standard, machine, chosen, wanted)
    trace_command.execute(request, output.value)


@app.command()
def evidence(
    source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="S", help="Only this source: blog, atc20, ispass20, eurosys19; repeatable."
        ),
    ] = None,
    output: Output = Format.TABLE,
    out: Annotated[
        Path | None, typer.Option(help="Results and evidence.html; default: reports.")
    ] = None,
    jobs: Jobs = None,
    experiments_folder: Annotated[
        str, typer.Option("--experiments", metavar="DIR", help="Claims, experiments, tests.toml.")
    ] = "experiments",
    verbose: Annotated[bool, typer.Option(help="Also show the time of each experiment.")] = False,
) -> None:
    """Judge every claim of the sources: expected, got, verdict, fitted or predicted."""
    from skipline.evidence import command

    folder = experiments_folder.rstrip("/") or "/"
    command.execute(command.Request(source or [], folder, out, jobs, verbose), output.value)


@app.command()
def demo(
    messages: Annotated[
        int, typer.Option(metavar="N", min=10_240, max=20_000_000, help="Round trips of each run.")
    ] = 200_000,
    seed: Seed = None,
    output: Output = Format.TABLE,
) -> None:
    """Show what DDIO saves: ping-pong latency and counters with DDIO off and on."""
    from skipline import demo as work

    measured = work.measure(messages, seed)
    match output:
        case Format.TABLE:
            terminal.show(*work.views(measured))
        case Format.JSON:
            terminal.emit(work.as_json(measured))
        case Format.CSV:
            terminal.emit(work.as_csv(measured))


@app.command()
def budget(
    platform: Annotated[
        str, typer.Argument(metavar="PLATFORM", help="Name of a known platform, or a TOML file.")
    ] = "cascade-lake-blog",
    output: Output = Format.TABLE,
) -> None:
    """Show how much time a packet has, and what NIC and memory take of it."""
    from skipline import budget as work

    items = work.items(platform)
    match output:
        case Format.TABLE:
            terminal.show(work.table(items, platform))
        case Format.JSON:
            terminal.emit(json.dumps({item.name: item.value_ns for item in items}, indent=2))
        case Format.CSV:
            terminal.emit(work.as_csv(items))


@app.command()
def calibrate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Calibration, on disk or built in.")],
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Points at a time; default: all cores.")
    ] = None,
    output: Output = Format.TABLE,
    out: Annotated[
        Path | None, typer.Option(help="Results; default: reports/calibrate-ID.")
    ] = None,
) -> None:
    """Let measured points choose among named hypotheses and parameters; cross-validate."""
    from skipline.calibrate import command

    command.execute(file, out, jobs, output.value)


@app.command()
def report(
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="Directory of results, or a file in it.")
    ],
    out: Annotated[Path | None, typer.Option(help="HTML file; default: beside the data.")] = None,
) -> None:
    """Write the HTML report of an experiment or of a single run."""
    from skipline.report import command

    terminal.emit_for_people(str(command.write(path, out)))


@app.command()
def schema(kind: Annotated[SchemaKind, typer.Argument(metavar="KIND")]) -> None:
    """Print the JSON schema of a kind of file, for editors."""
    terminal.emit(_core.schema(kind.value))


@host.callback()
def host_default(
    context: typer.Context,
    root: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Tree that stands in for the machine.")
    ] = None,
) -> None:
    """See, set, measure and restore the real machine's I/O cache controls."""
    context.obj = [] if root is None else ["--root", str(root)]


def _pass_on(name: str, summary: str) -> None:
    """Register a command of the binary, which has its own options and help."""

    def run(context: typer.Context) -> None:
        from skipline.host import binary

        binary.replace_process([*context.obj, name, *context.args])

    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    host.command(name, help=summary, add_help_option=False, context_settings=settings)(run)


_pass_on("status", "Show how I/O data reaches the cache of this machine.")
_pass_on("tune", "Change a control; a dry run without --apply.")
_pass_on("restore", "Put back every value that tune changed.")
_pass_on("monitor", "Show hits and misses of devices, bandwidth, occupancy.")
_pass_on("calibrate", "Measure caches and memory; write a platform file.")
_pass_on("slices", "Learn which cache slice each line is in, and how far slices are.")


@host.command("compare")
def host_compare(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Platform file of `skipline host calibrate`.")
    ],
    measured: Annotated[
        Path | None, typer.Option(help="What was measured; default: FILE as .measured.json.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="HTML page; default: FILE as .compare.html.")
    ] = None,
    seed: Seed = None,
    output: Output = Format.TABLE,
) -> None:
    """Simulate what `skipline host calibrate` measured: latency over working sets, with errors."""
    from skipline.host import command

    command.compare(command.Request(file, measured, out, seed), output.value)


@experiments.command("list")
def experiment_list(output: Output = Format.TABLE) -> None:
    """List the experiments, built in and below ./experiments."""
    from skipline.experiment import command

    command.list_all(output.value)


@experiments.command("show")
def experiment_show(
    experiment: Annotated[str, typer.Argument(metavar="ID", help="Identifier or TOML file.")],
    output: Output = Format.TABLE,
) -> None:
    """Show an experiment: question, points, checks, reference."""
    from skipline.experiment import command

    command.show(experiment, output.value)


@experiments.command("run")
def experiment_run(
    experiment: Annotated[
        list[str], typer.Argument(metavar="ID", help="Identifiers or TOML files.")
    ],
    jobs: Jobs = None,
    seed: Seed = None,
    output: Output = Format.TABLE,
    out: Annotated[
        Path | None, typer.Option(help="Results; default: reports/ID. Of several: OUT/ID.")
    ] = None,
) -> None:
    """Simulate all points beside the measured ones; write tables and an HTML report."""
    from skipline.experiment import command

    command.run(experiment, jobs, seed, out, output.value)


@platforms.callback(invoke_without_command=True)
def platforms_default(context: typer.Context) -> None:
    """Facts about machines, each with its source."""
    if context.invoked_subcommand is None:
        platforms_list()


@platforms.command("list")
def platforms_list() -> None:
    """List the known platforms."""
    from skipline.platforms import overview

    terminal.show(overview())


@platforms.command("show")
def platforms_show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, or a TOML file.")],
    output: Output = Format.TABLE,
) -> None:
    """Show a platform's facts with confidence and source."""
    from skipline.platforms import as_csv, details

    match output:
        case Format.TABLE:
            terminal.show(details(name))
        case Format.JSON:
            terminal.emit(_core.platform(name))
        case Format.CSV:
            terminal.emit(as_csv(name))


@platforms.command("check")
def platforms_check(file: Annotated[str, typer.Argument(metavar="FILE")]) -> None:
    """Check a platform file: keys, ranges, a source for every number."""
    from skipline.platforms import facts

    terminal.emit_for_people(f"{file}: good, {len(facts(file))} facts")


def main() -> NoReturn:
    """Run the command line and turn every outcome into an exit code."""
    try:
        app(prog_name="skipline")
    except SystemExit as stop:
        if stop.code == _INTERRUPTED:
            terminal.note("interrupted; nothing was written")
        raise
    except KeyboardInterrupt:
        terminal.note("interrupted; nothing was written")
        sys.exit(_INTERRUPTED)
    except terminal.Interrupted as interruption:
        terminal.note(f"interrupted; {interruption}")
        sys.exit(_INTERRUPTED)
    except InputError as error:
        terminal.complain(str(error))
        sys.exit(2)
    except RunError as error:
        terminal.complain(str(error))
        sys.exit(1)
    except OSError as error:
        terminal.give_up_stdout()
        terminal.complain(str(error))
        sys.exit(1)
    sys.exit(0)


_INTERRUPTED = 130
