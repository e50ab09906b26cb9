"""Keys to the marks of figures, as HTML."""

from collections.abc import Collection, Iterable

from skipline.experiment.definition import Basis
from skipline.experiment.table import Comparison, Simulated
from skipline.report.chart_style import MEASURED, PAPER, PREDICTED, SOFT


def legend(rows: Collection[Simulated], repeats: int) -> str:
    """Return the key to those marks of published and simulated numbers that occur, as HTML."""
    band = "95 % interval" if repeats == 1 else f"lowest and highest of {repeats} runs"
    published = {row.measured_runs > 0 for row in rows if isinstance(row, Comparison)}
    bases = {row.basis for row in rows}
    entries = []
    if True in published:
        spread = f'<path d="M7 1V21M3 1H11M3 21H11" stroke="{MEASURED}" stroke-width="1.5"/>'
        entries.append((_dot(MEASURED, spread), "measured: mean, lowest and highest run"))
    if False in published:
        entries.append((_dot(MEASURED), "stated by the source"))
    if "predicted" in bases:
        entries.append((_simulated_mark(PREDICTED), f"simulated, predicted (band: {band})"))
    if "fitted" in bases:
        text = "simulated, fitted (its measured value chose a parameter)"
        entries.append((_simulated_mark(PAPER), text))
    return key(entries)


def key(entries: Iterable[tuple[str, str]]) -> str:
    """Return marks and what they mean side by side, as HTML."""
    spans = "".join(f"<span>{mark}{text}</span>" for mark, text in entries)
    return f'<div class="legend">{spans}</div>'


def _dot(colour: str, more: str = "") -> str:
    return (
        f'<svg width="14" height="22" aria-hidden="true">{more}'
        f'<circle cx="7" cy="11" r="4" fill="{colour}"/></svg>'
    )


def _simulated_mark(fill: str) -> str:
    return (
        f'<svg width="30" height="22" aria-hidden="true"><rect width="30" height="12" y="5" '
        f'fill="{PREDICTED}" opacity=".2"/><path d="M0 11H30" stroke="{PREDICTED}" '
        f'stroke-width="2"/><circle cx="15" cy="11" r="4" fill="{fill}" stroke="{PREDICTED}" '
        'stroke-width="1.5"/></svg>'
    )


def basis_legend(bases: Collection[Basis]) -> str:
    """Return the key to filled and hollow points of a scatter plot, as HTML."""
    fills = {"predicted": SOFT, "fitted": "none"}
    return key(
        (
            '<svg width="14" height="14" aria-hidden="true"><circle cx="7" cy="7" r="4.5" '
            f'fill="{fills[basis]}" stroke="{SOFT}" stroke-width="1.5"/></svg>',
            basis,
        )
        for basis in ("predicted", "fitted")
        if basis in bases
    )
