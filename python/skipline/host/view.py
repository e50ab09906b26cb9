"""A host beside its model, as text."""

from rich.console import Group, RenderableType

from skipline.host.comparison import EDGE_OCTAVES, TOLERANCE, Comparison, Size
from skipline.text.table import Column, TextTable, numbers

_UNITS = ((1 << 20, "MiB"), (1 << 10, "KiB"))
_SMALL_PAGE_BYTES = 4096


def size_text(size_bytes: float) -> str:
    """Write a size with three digits and its unit."""
    factor, unit = next((u for u in _UNITS if size_bytes >= u[0]), (1, "B"))
    return f"{size_bytes / factor:.3g} {unit}"


def use_text(size: Size) -> str:
    """Return the use of a size."""
    if size.role == "fit":
        return "fitted"
    return f"edge of {size.near_edge_of}" if size.near_edge_of else "judged"


def verdict(comparison: Comparison) -> str:
    """Return a sentence on how well the kept sizes are met."""
    judged, within, worst = len(comparison.judged), comparison.within, comparison.worst
    if worst is None:
        return "No size was kept aside outside the edges: nothing is judged."
    return (
        f"{within} of {judged} sizes kept aside are within {100 * TOLERANCE:.0f} % "
        f"(largest difference {100 * worst.error:+.1f} %, at {size_text(worst.working_set_bytes)})."
    )


def notes(comparison: Comparison) -> list[str]:
    """Describe the use of each size, and effects in the measurement beside the caches."""
    measurement = comparison.measurement
    fitted = [size for size in comparison.sizes if size.role == "fit"]
    near = [size for size in comparison.sizes if size.role == "kept" and size.near_edge_of]
    edges = ", ".join(f"{edge.cache} {size_text(edge.capacity_bytes)}" for edge in comparison.edges)
    lines = [
        f"{len(fitted)} sizes chose the parameters (fitted); of the {len(near)} + "
        f"{len(comparison.judged)} others, those within {EDGE_OCTAVES:g} octaves of an edge "
        f"({edges}) are not judged.",
        _by_level(comparison),
        "Measured: the lower quartile over "
        f"{measurement.passes} passes. Bandwidths and the line between cores are not judged.",
    ]
    if measurement.pages.translation_bytes <= _SMALL_PAGE_BYTES:
        lines.append(
            "Translations behave as 4 KiB ones: simulated memory lies in scattered pieces of that "
            "size. The chase visits groups of pages, so that walks cost little; what they cost "
            "is in the measured numbers and not in the model."
        )
    if measurement.processor.virtual_machine:
        lines.append(
            "A virtual machine: others may take a part of the last-level cache and of memory's "
            "bandwidth, another one at another time."
        )
    return lines


def _by_level(comparison: Comparison) -> str:
    counts = comparison.judged_by_level
    counted = ", ".join(f"{level} {count}" for level, count in counts.items())
    silent = [level for level, count in counts.items() if not count]
    if not silent:
        return f"Judged sizes by level: {counted}."
    return (
        f"Judged sizes by level: {counted}. Nothing judges {' and '.join(silent)}: too little was "
        "left of it between the edges. Measure again when others use less of the caches."
    )


def overview(comparison: Comparison) -> RenderableType:
    """Show sizes, streams and the line between cores."""
    parts: list[RenderableType] = [sizes_table(comparison), "", _streams(comparison)]
    if comparison.core_to_core_ns is not None:
        measured_ns, simulated_ns = comparison.core_to_core_ns
        parts += [
            "",
            f"A line between cores: {measured_ns:.1f} ns, simulated {simulated_ns:.1f} ns.",
        ]
    return Group(*parts, "", verdict(comparison), *notes(comparison))


def sizes_table(comparison: Comparison) -> TextTable:
    """Return a row for each working set."""
    columns = (
        Column("working set", "working_set_bytes", form=size_text, right=True),
        Column(None, "use"),
        Column("measured", "measured_ns", unit="ns", form=".2f", right=True),
        Column("min", "measured_min_ns", form=".2f", right=True),
        Column("median", "measured_median_ns", form=".2f", right=True),
        Column("simulated", "simulated_ns", unit="ns", form=".2f", right=True, decimals=3),
        Column("error", "error", form=_percent, right=True, decimals=4),
        Column("use"),
    )
    title = f"{comparison.measurement.processor.name}: measured, and simulated on "
    table = TextTable(columns, title=title + comparison.platform, has_edges=True)
    for size in comparison.sizes:
        is_off = size.is_judged and abs(size.error) > TOLERANCE
        measured = (size.measured_ns, size.measured_min_ns, size.measured_median_ns)
        values = (size.working_set_bytes, use_text(size), *measured, size.simulated_ns, size.error)
        table.add(*values, use_text(size), style="red" if is_off else "")
    return table


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def _streams(comparison: Comparison) -> TextTable:
    columns = (
        Column("array", form=size_text, right=True),
        *numbers("read", "write", "copy", form=_pair),
    )
    table = TextTable(columns, title="GB/s, measured / simulated", has_edges=True)
    for stream in comparison.streams:
        table.add(stream.array_bytes, stream.read, stream.write, stream.copy)
    return table


def _pair(rates: tuple[float, float]) -> str:
    measured, simulated = rates
    return f"{measured:.1f} / {simulated:.1f}"
