"""`skipline host ...`: the commands of the binary `skipline-host`, and `compare`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from skipline import _core, atomic
from skipline._core import InputError
from skipline.commands import options, suggestions
from skipline.commands.command import Command, Group
from skipline.commands.options import Format
from skipline.text import terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@click.group(
    cls=Group,
    no_args_is_help=True,
    examples=[
        "skipline host status",
        "skipline host tune ddio-ways 4",
        "skipline host calibrate --out node7.toml",
        "skipline host compare node7.toml",
    ],
)
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Tree that stands in for the machine.",
)
@click.pass_context
def host(context: click.Context, root: Path | None) -> None:
    """See, set, measure and restore the real machine's I/O cache controls (skipline-host)."""
    context.obj = [] if root is None else ["--root", str(root)]


class PassedOn(Command):
    """A command of the binary, which knows what may be typed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take all words as they are: `--` before a command to run is the binary's to read."""
        ctx.args = list(args)
        return ctx.args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offer the binary's commands, options and values, none if it is not here."""
        from click.shell_completion import CompletionItem

        from skipline.host import word_completion

        found = word_completion.completions([str(self.name), *ctx.args], incomplete)
        return [CompletionItem(word, help=about) for word, about in found]


def _pass_on(name: str, summary: str) -> None:
    """Register a command of the binary, which has its own options and help."""

    def run(context: click.Context) -> None:
        from skipline.host import binary

        binary.replace_process([*context.obj, name, *context.args])

    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    host.add_command(
        PassedOn(
            name,
            help=summary,
            add_help_option=False,
            context_settings=settings,
            callback=click.pass_context(run),
        )
    )


_pass_on("status", "Show how I/O data reaches the cache of this machine.")
_pass_on("doctor", "Say what can be seen and changed here, and what would allow it.")
_pass_on("tune", "Change a control; a dry run without --apply.")
_pass_on("restore", "Put back every value that tune changed.")
_pass_on("run", "Hold settings while a command runs, and put the old values back.")
_pass_on("observe", "Write this server as a scenario, with a source for each value.")
_pass_on("monitor", "Show hits and misses of devices, bandwidth, occupancy.")
_pass_on("steer", "Let a controller set the ways for I/O by what counters say.")
_pass_on("calibrate", "Measure caches and memory; write a platform file.")
_pass_on("slices", "Learn which cache slice each line is in, and how far slices are.")


@host.command(
    "compare",
    extra="reports",
    examples=[
        "skipline host compare node7.toml",
        "skipline host compare node7.toml --out reports/node7.html --format csv",
    ],
)
@click.argument(
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Platform file of `skipline host calibrate`.",
    shell_complete=suggestions.toml_files,
)
@click.option(
    "--measured",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What was measured; default: FILE as .measured.json.",
)
@options.out("HTML page; default: FILE as .compare.html.", "FILE")
@options.seed
@options.output
def compare(
    file: Path, measured: Path | None, out: Path | None, seed: int | None, output: Format
) -> None:
    """Simulate what `skipline host calibrate` measured: latency over working sets, with errors."""
    if file.is_dir():
        raise InputError(f"{file}: this is a directory; {_platforms_in(file)}")
    if _core.is_pipe(file):
        raise InputError(f"{file}: this is a pipe; name the platform file")
    if not file.is_file():
        raise InputError(f"{file}: no such file; `skipline-host calibrate --out {file}` writes it")
    from skipline.host import comparison, measurement, page, view

    measured = measured or measurement.path_beside(file, measurement.MEASURED)
    out = out or measurement.path_beside(file, measurement.COMPARED)
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(f"--out {out}: not a file in a directory that exists")
    read = measurement.read(measured)
    with terminal.progress_bar("simulating") as bar:
        compared = comparison.compare(file, measured, read, seed, bar.update)
    atomic.write(out, page.page(compared))
    match output:
        case Format.JSON:
            terminal.emit_json(json.dumps(compared.as_json(), indent=1))
        case Format.CSV:
            terminal.emit(view.sizes_table(compared).as_csv())
        case Format.TABLE:
            terminal.show(view.overview(compared))
    terminal.note(f"wrote {out}")


def _platforms_in(directory: Path) -> str:
    """Name the platform files of a directory that have a measurement beside them."""
    from skipline.host import measurement

    found = [
        str(platform)
        for platform in sorted(directory.glob("*.toml"))
        if measurement.path_beside(platform, measurement.MEASURED).is_file()
    ]
    if found:
        return f"name the platform file: {' or '.join(found)}"
    new = directory / "this-host.toml"
    return f"no platform in it was measured; `skipline-host calibrate --out {new}` writes one"
