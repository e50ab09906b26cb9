"""A host beside its model, as text."""

from rich.console import Group, RenderableType
from rich.table import Table

from skipline.host.comparison import EDGE_OCTAVES, TOLERANCE, Comparison, Size
from skipline.text import csv_text

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
    title = f"{comparison.measurement.processor.name}: measured, and simulated on "
    table = Table(title=title + comparison.platform, box=None, title_justify="left")
    table.add_column("working set", justify="right")
    for name in ("measured, ns", "min", "median", "simulated, ns", "error"):
        table.add_column(name, justify="right")
    table.add_column("use")
    for size in comparison.sizes:
        style = "red" if size.is_judged and abs(size.error) > TOLERANCE else None
        measured = (size.measured_ns, size.measured_min_ns, size.measured_median_ns)
        table.add_row(
            size_text(size.working_set_bytes),
            *(f"{value:.2f}" for value in (*measured, size.simulated_ns)),
            f"{100 * size.error:+.1f} %",
            use_text(size),
            style=style,
        )
    parts: list[RenderableType] = [table, "", _streams(comparison)]
    if comparison.core_to_core_ns is not None:
        measured_ns, simulated_ns = comparison.core_to_core_ns
        parts += [
            "",
            f"A line between cores: {measured_ns:.1f} ns, simulated {simulated_ns:.1f} ns.",
        ]
    return Group(*parts, "", verdict(comparison), *notes(comparison))


def _streams(comparison: Comparison) -> Table:
    table = Table(title="GB/s, measured / simulated", box=None, title_justify="left")
    for name in ("array", "read", "write", "copy"):
        table.add_column(name, justify="right")
    for stream in comparison.streams:
        pairs = (stream.read, stream.write, stream.copy)
        table.add_row(
            size_text(stream.array_bytes),
            *(f"{measured:.1f} / {simulated:.1f}" for measured, simulated in pairs),
        )
    return table


def as_csv(comparison: Comparison) -> str:
    """Write one row per working set."""
    columns = (
        "working_set_bytes",
        "use",
        "measured_ns",
        "measured_min_ns",
        "measured_median_ns",
        "simulated_ns",
        "error",
    )
    rows = (
        (
            size.working_set_bytes,
            use_text(size),
            size.measured_ns,
            size.measured_min_ns,
            size.measured_median_ns,
            round(size.simulated_ns, 3),
            round(size.error, 4),
        )
        for size in comparison.sizes
    )
    return csv_text.from_rows(columns, rows)
