"""Skipline's caches, asked as a user asks them."""

from pathlib import Path

from command_line import Skipline
from parity.referee import Counts, Level, Machine
from parity.traces import Trace


def skipline_levels(trace: Trace, machine: Machine) -> dict[str, Counts]:
    """What `skipline trace` counts per level."""
    directory = trace.path.parent
    file = directory / "machine.toml"
    file.write_text(machine_toml(machine))
    return traced(directory, trace, file)


def traced(directory: Path, trace: Trace, machine: Path | str) -> dict[str, Counts]:
    """The same for the machine that a file describes or that is built in."""
    arguments = ["trace", str(trace.path), "--machine", str(machine)]
    arguments += ["--trace-format", trace.format, "--format", "json"]
    done = Skipline(directory)(*arguments)
    assert done.code == 0, done.err
    return {
        level["name"]: Counts(level["hits"], level["misses"], level["writebacks"])
        for level in done.json["levels"]
    }


def machine_toml(machine: Machine) -> str:
    """A machine of independent levels, as a platform file."""
    tables = ['title = "independent levels"\n']
    if machine.instructions:
        tables.append(_level_toml("instructions", machine.instructions, machine.replacement))
    tables += [_level_toml("level", level, machine.replacement) for level in machine.levels]
    return "\n".join(tables)


def _level_toml(table: str, level: Level, replacement: str) -> str:
    return (
        f"[[{table}]]\n"
        f'name = "{level.name}"\n'
        f"sets = {level.sets}\n"
        f"ways = {level.ways}\n"
        f'replacement = "{replacement}"\n'
    )
