"""Words beside the curves of a sweep: caption, notes of a picture, the key to marks."""

from collections.abc import Callable, Sequence

from skipline.report import legends
from skipline.report.chart_style import EDGE, MEASURED, PAPER, PREDICTED
from skipline.report.curves import INTERVAL_OPACITY, MODEL_OPACITY, Along, Curve
from skipline.report.ring_rules import WORDS
from skipline.report.sweep_figures import number
from skipline.scenarios import metrics, scenario_keys
from skipline.store.curves import CurvePoint, curve_name

LOSSES = ("rx_dropped", "rx_loss_rate")
SINGLES = "Small dots: single seeds; one server is one of them"
# More places are counted, not named.
_MOST_PLACES = 8
_MODEL = "what the model itself may be off by, from the comparison with measurements (90 %)"


def caption(curves: Sequence[Curve], along: Along) -> str:
    """Say what axes and marks show, which points are unsettled, and where numbers come from."""
    verticals = ", ".join(f"{metrics.label(curve.name)} ({curve.name})" for curve in curves)
    each = f", a curve for each {scenario_keys.label(along.by).within}" if along.by else ""
    seen = f"Diamonds: measured, from {along.measured.name}." if along.measured else ""
    return " ".join(
        filter(
            None,
            (
                f"{verticals} (vertical) over {scenario_keys.label(along.x).within} ({along.x}, "
                f"horizontal){each}. Simulated.",
                *_marks(curves, along),
                seen or "Nothing is measured.",
            ),
        )
    )


def notes(curves: Sequence[Curve], along: Along) -> str:
    """Say what the marks of a picture without its caption are."""
    measured = f"Diamonds: measured ({along.measured.name})." if along.measured else ""
    return " ".join(filter(None, ("Simulated.", *_marks(curves, along), measured)))


def _marks(curves: Sequence[Curve], along: Along) -> list[str]:
    every = [point for curve in curves for point in curve.points]
    seeds = max((point.seeds for point in every), default=1)
    of = (
        f"of the mean over {seeds} seeds"
        if seeds > 1
        else "within a run; other seeds may differ by more"
    )
    has_singles = any(point.singles for point in every)
    unsettled = _where(every, along, lambda point: point.unsettled)
    return [
        f"Dark band: 95 % interval {of}.",
        f"{SINGLES}." if has_singles else "",
        _model(curves, along),
        f"Hollow: points that have not settled ({unsettled}); raise run.max_batches."
        if unsettled
        else "",
        _rules(along),
    ]


def _model(curves: Sequence[Curve], along: Along) -> str:
    """Say what the pale band is, and where there is none, with the reason."""
    none = []
    for curve in curves:
        missing = [
            (point, band)
            for point, band in zip(curve.points, curve.bands, strict=True)
            if band.why_none
        ]
        for why in dict.fromkeys(band.why_none for _, band in missing):
            places = [point for point, band in missing if band.why_none == why]
            everywhere = len(places) == len(missing) and all(b.low is None for b in curve.bands)
            at = "" if everywhere else f" at {_where(places, along, lambda _: True)}"
            none.append(f"{metrics.label(curve.name)}{at} ({why})")
    known = any(band.low is not None for curve in curves for band in curve.bands)
    if not known and not none:
        return ""
    if not known:
        return f"What the model itself may be off by is not known for {'; '.join(none)}."
    but = f"; none for {'; '.join(none)}" if none else ""
    return f"Pale band: {_MODEL}{but}."


def _rules(along: Along) -> str:
    if not along.rings.rules:
        return along.rings.words
    at = ", ".join(
        number(rule.value) + (f" with {along.by} {rule.curve}" if rule.curve is not None else "")
        for rule in along.rings.rules
    )
    side = "below" if along.rings.is_below else "beyond"
    shaded = all(rule.curve is None for rule in along.rings.rules)
    marks = "Dashed line and grey" if shaded else "Dashed"
    return f"{marks}: a limit, not advice; {side} it rings exceed the DDIO ways ({along.x} {at})."


def _where(points: Sequence[CurvePoint], along: Along, chosen: Callable[[CurvePoint], bool]) -> str:
    """Name the chosen points: of each curve the values along it; of many how many they are."""
    found: dict[str, list[str]] = {}
    for point in points:
        if chosen(point):
            curve = f"{along.by} {curve_name(point.axes[along.by])}, " if along.by else ""
            values = found.setdefault(f"{curve}{along.x}", [])
            values += [text] if (text := str(point.axes[along.x])) not in values else []
    count = sum(map(len, found.values()))
    if count > _MOST_PLACES:
        return f"{count} points"
    return "; ".join(f"{curve} {', '.join(values)}" for curve, values in found.items())


def nothing(curves: Sequence[Curve]) -> list[str]:
    """Say of metrics that are zero everywhere that they are; nobody needs a figure for that."""
    return list(
        dict.fromkeys(
            "Nothing is lost at any point."
            if curve.name.rpartition(":")[2] in LOSSES
            else f"{metrics.label(curve.name)}: nothing at any point."
            for curve in curves
        )
    )


def key(curves: Sequence[Curve], along: Along) -> str:
    """Return the key to the marks that occur, as HTML."""
    every = [point for curve in curves for point in curve.points]
    bands = [band for curve in curves for band in curve.bands]
    entries = [(_point(PREDICTED), "simulated")]
    if any(point.unsettled for point in every):
        entries.append((_point(PAPER), "not settled"))
    if along.measured:
        diamond = f'<path d="M7 6L12 11L7 16L2 11Z" fill="{MEASURED}"/>'
        entries.append((_mark(14, diamond), "measured"))
    if any(point.half for point in every):
        of = " of the mean" if any(point.seeds > 1 for point in every) else ""
        entries.append((_band(INTERVAL_OPACITY), f"95 % interval{of}"))
    if any(point.singles for point in every):
        dot = f'<circle cx="7" cy="11" r="2" fill="{PREDICTED}"/>'
        entries.append((_mark(14, dot), SINGLES.lower()))
    if any(band.low is not None for band in bands):
        entries.append((_band(MODEL_OPACITY), "pale: what the model itself may be off by"))
    if along.rings.rules:
        rule = f'<path d="M7 0V22" stroke="{EDGE}" stroke-width="1.5" stroke-dasharray="6 4"/>'
        entries.append((_mark(14, rule), WORDS))
    return legends.key(entries)


def short_key(curve: Curve, along: Along) -> str:
    """Return the key to the marks of a slide, in a few words."""
    seeds = max((point.seeds for point in curve.points), default=1)
    unknown = [
        point for point, band in zip(curve.points, curve.bands, strict=True) if band.low is None
    ]
    has_model = len(unknown) < len(curve.points)
    at = f", not known at {_where(unknown, along, lambda _: True)}" if unknown else ""
    parts = [
        f"Simulated. Line: mean of {seeds} seeds" if seeds > 1 else "Line: simulated, one seed",
        "small dots: single seeds" if any(point.singles for point in curve.points) else "",
        f"dark: 95 % interval{' of the mean' if seeds > 1 else ''}",
        f"pale: what the model may be off by (90 %{at})" if has_model else "",
        "" if has_model else "what the model may be off by is not known here",
        "hollow: not settled" if any(point.unsettled for point in curve.points) else "",
        "diamonds: measured" if along.measured else "",
    ]
    return " ".join(filter(None, (f"{'; '.join(filter(None, parts))}.", along.rings.sizes)))


def _mark(width: int, content: str) -> str:
    return f'<svg width="{width}" height="22" aria-hidden="true">{content}</svg>'


def _band(opacity: float) -> str:
    return _mark(30, f'<rect width="30" height="14" y="4" fill="{PREDICTED}" opacity="{opacity}"/>')


def _point(fill: str) -> str:
    line = f'<path d="M0 11H30" stroke="{PREDICTED}" stroke-width="2"/>'
    circle = (
        f'<circle cx="15" cy="11" r="4" fill="{fill}" stroke="{PREDICTED}" stroke-width="1.5"/>'
    )
    return _mark(30, f"{line}{circle}")
