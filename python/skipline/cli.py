"""The command line: which commands there are, and how every outcome becomes an exit code."""

import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import click

from skipline import _core, extras, interruption
from skipline._core import InputError, RunError
from skipline.commands.command import Group
from skipline.text import terminal
from skipline.text.nearest import did_you_mean

_COMPLETION = "_SKIPLINE_COMPLETE"

COMMANDS = (
    "run",
    "trace",
    "evidence",
    "demo",
    "explore",
    "init",
    "budget",
    "calibrate",
    "advise",
    "sweep",
    "diff",
    "store",
    "report",
    "schema",
    "metrics",
    "experiment",
    "host",
    "explain-host",
    "platforms",
    "testbeds",
    "examples",
    "completion",
)


def module_of(command: str) -> str:
    """Return the module of a command: of `explain-host` it is `explain_host`."""
    return f"skipline.commands.{command.replace('-', '_')}"


class Commands(Group):
    """All commands; the module of each is loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        name = module_of(cmd_name)
        command: click.Command = getattr(importlib.import_module(name), name.rpartition(".")[2])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments name, or suggest the nearest."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            known = ", ".join(COMMANDS)
            ctx.fail(f"command '{name}': unknown{did_you_mean(name, COMMANDS)}; known: {known}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    no_args_is_help=True,
    examples=[
        "skipline demo",
        "skipline run experiments/ddio-bench/l2fwd.toml --set rx_descriptors=1024",
        "skipline experiment run ddio-tune",
        'eval "$(skipline completion bash)"',
    ],
)
@click.option("--version", is_flag=True, help="Print the version.")
def app(version: bool) -> None:
    """Predict where I/O data goes in a server: DDIO, last-level cache, DRAM."""
    if version:
        terminal.emit(f"skipline {_core.version()}")
        raise click.exceptions.Exit(0)


def main() -> NoReturn:
    """Run the command line and turn every outcome into an exit code."""
    try:
        interruption.raise_exception()
        sys.exit(_called())
    except (KeyboardInterrupt, click.Abort):
        terminal.note("interrupted; nothing was written")
        sys.exit(interruption.EXIT_CODE)
    except terminal.Interrupted as interrupted:
        terminal.note(f"interrupted; {interrupted}")
        sys.exit(interruption.EXIT_CODE)
    except click.ClickException as error:
        _show_usage(error)
        sys.exit(error.exit_code)
    except InputError as error:
        terminal.complain(f"{error}{_directory_hint()}")
        sys.exit(2)
    except extras.MissingExtra as error:
        terminal.complain(str(error))
        sys.exit(2)
    except ModuleNotFoundError as error:
        missing = extras.for_library(error)
        if missing is None:
            raise
        terminal.complain(str(missing))
        sys.exit(2)
    except RunError as error:
        terminal.complain(f"{error}{_directory_hint()}")
        sys.exit(1)
    except OSError as error:
        terminal.give_up_stdout()
        is_denied = isinstance(error, PermissionError) and error.filename is not None
        reason = f"{error.filename}: permission denied" if is_denied else str(error)
        terminal.complain(f"{reason}{_directory_hint()}")
        sys.exit(2 if is_denied or _directory_hint() else 1)
    except Exception:
        # A library that Ctrl-C ends while it loads says anything.
        if not interruption.was_pressed():
            raise
        terminal.note("interrupted; nothing was written")
        sys.exit(interruption.EXIT_CODE)


def _directory_hint() -> str:
    """Explain why no relative path can be found, if that is so."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "; the current directory has been deleted: change to another one"
    return ""


def _called() -> int:
    """Do what the command line or a shell asks for; return the exit code of what ended early."""
    if _COMPLETION in os.environ:
        from skipline.commands import shells  # noqa: F401 - makes the shells known
    code = app.main(prog_name="skipline", complete_var=_COMPLETION, standalone_mode=False)
    return code if isinstance(code, int) else 0


def _show_usage(error: click.ClickException) -> None:
    """Explain a wrong command line, and point to its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        terminal.emit(error.format_message())
        return
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        terminal.note(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
    terminal.complain(error.format_message())
