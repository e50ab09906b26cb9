"""Skipline's caches, asked for what they do with a trace."""

import json
from typing import Any

from parity.referee import Counts, Level, Machine
from parity.traces import Trace
from skipline import _core

REFERENCE_MACHINE = "three-level-lru"
# Levels of a platform from the core on; a smaller machine ends before the last of them, which
# changes nothing above.
TABLES = ("l1d", "l2", "llc")


def skipline_levels(trace: Trace, machine: Machine) -> dict[str, Counts]:
    """What `skipline trace` counts per level, under the names that `machine` gives them."""
    levels = iter(traced(trace, machine)["levels"])
    shapes = [*([machine.instructions] if machine.instructions else []), *machine.levels]
    return {
        shape.name: Counts(level["hits"], level["misses"], level["writebacks"])
        for shape, level in zip(shapes, levels, strict=False)
    }


def traced(trace: Trace, machine: Machine) -> dict[str, Any]:
    """The whole result of `skipline trace --format json`."""
    file = trace.path.parent / "machine.toml"
    file.write_text(machine_toml(machine))
    result = json.loads(_core.trace(str(trace.path), str(file), trace.format))
    assert isinstance(result, dict)
    return result


def machine_toml(machine: Machine) -> str:
    """The reference machine of independent levels with other shapes."""
    platform = json.loads(_core.platform(REFERENCE_MACHINE))
    for table, level in zip(TABLES, machine.levels, strict=False):
        _reshape(platform[table], level, machine.replacement)
    if machine.instructions:
        platform["l1i"] = dict(platform["l1d"])
        _reshape(platform["l1i"], machine.instructions, machine.replacement)
    tables = [f'title = "{platform.pop("title")}"\n']
    tables += [_table_toml(name, table) for name, table in platform.items()]
    return "\n".join(tables)


def _reshape(table: dict[str, Any], level: Level, replacement: str) -> None:
    sets = "sets_per_slice" if "sets_per_slice" in table else "sets"
    for key, value in ((sets, level.sets), ("ways", level.ways), ("replacement", replacement)):
        table[key] = {"value": value, "source": "this test", "confidence": "seen"}


def _table_toml(name: str, table: dict[str, Any]) -> str:
    leaves = (
        f"{key} = {{ value = {json.dumps(leaf['value'])}, source = {json.dumps(leaf['source'])}, "
        f"confidence = {json.dumps(leaf['confidence'])} }}\n"
        for key, leaf in table.items()
    )
    return f"[{name}]\n" + "".join(leaves)
