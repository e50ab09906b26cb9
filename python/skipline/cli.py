"""The command line: which commands there are, and how every outcome becomes an exit code."""

import sys
from typing import Annotated, NoReturn

import typer

from skipline import _core, terminal
from skipline._core import InputError, RunError
from skipline.commands import (
    budget,
    calibrate,
    demo,
    evidence,
    examples,
    experiment,
    host,
    metrics,
    platforms,
    report,
    run,
    schema,
    trace,
)

app = typer.Typer(
    help="Predict where I/O data goes in a server: DDIO, last-level cache, DRAM.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(run.run)
app.command()(trace.trace)
app.command()(evidence.evidence)
app.command()(demo.demo)
app.command()(budget.budget)
app.command()(calibrate.calibrate)
app.command()(report.report)
app.command()(schema.schema)
app.command()(metrics.metrics)
app.add_typer(examples.app, name="examples")
app.add_typer(experiment.app, name="experiment")
app.add_typer(host.app, name="host")
app.add_typer(platforms.app, name="platforms")


@app.callback(invoke_without_command=True)
def skipline(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Predict where I/O data goes in a server: DDIO, last-level cache, DRAM."""
    if version:
        terminal.emit(f"skipline {_core.version()}")
        raise typer.Exit


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
