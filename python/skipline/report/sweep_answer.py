"""The answer of a sweep: where a metric is best, and which metrics its settings do not change."""

from collections.abc import Sequence
from typing import Any

from skipline.report import best_range, curve_words, differences, losses
from skipline.report import sweep_figures as figures
from skipline.report.curves import Along, Curve
from skipline.report.document import card
from skipline.scenarios import metrics, scenario_keys
from skipline.store import summary
from skipline.store.summary import Summary
from skipline.text import quantity

# Sentences on metrics that change, fewer the more settings each names, and on those that do not.
_MOST_TOLD = 3


def sentence(found: Summary, curves: Sequence[Curve], along: Along | None = None) -> str:
    """Say where the metrics that the settings change are best, and which they do not change."""
    return " ".join(statements(found, curves, along))


def statements(
    found: Summary, curves: Sequence[Curve], along: Along | None = None
) -> Sequence[str]:
    """Return the answer statement by statement, each of one or more sentences.

    Along one setting the first is on all metrics that change: winners of each alone contradict
    each other.
    """
    changed: list[tuple[Curve, dict[str, Any]]] = []
    unchanged: list[str] = []
    for curve in (curve for curve in curves if not curve.is_nothing):
        best = _best(found, curve.name)
        if best is None:
            continue
        why_alike = differences.why_alike(curve, along)
        if why_alike is None:
            changed.append((curve, best))
        elif len(curve.points) > 1:
            by_model = why_alike == "model"
            unchanged.append(_unchanged(curve, best[curve.name], along, by_model=by_model))
    nothing = [curve for curve in curves if curve.is_nothing]
    lost: list[str] = []
    if along is not None and along.loss is not None:
        nothing = [curve for curve in nothing if curve.name not in curve_words.LOSSES]
        lost = [losses.statement(along.loss, along.x, along.by)]
    most = max(_MOST_TOLD + 1 - len(_varied(found)), 1)
    loses = along is not None and along.is_choice and losses.acceptable(along.loss, along.x)
    if along is not None and along.by is None and (changed or loses):
        first = [best_range.sentence([curve for curve, _ in changed], along)]
    else:
        of_all = _best_of_all(found, [curve for curve, _ in changed])
        first = of_all or [_best_of(found, curve, best) for curve, best in changed[:most]]
    told = [*first, *lost, *unchanged[:most], *curve_words.nothing(nothing)]
    return told or [f"{len(found.frame):,} points of {', '.join(found.axes)}."]


def _best_of_all(found: Summary, changed: Sequence[Curve]) -> list[str]:
    """Name a combination that is as good as any in all metrics, if there is one."""
    good = [
        {tuple(one.point.axes[axis] for axis in found.axes) for one in differences.as_good(curve)}
        for curve in changed
    ]
    if len(changed) <= 1 or not (of_all := set.intersection(*good)):
        return []
    for row in found.frame.iter_rows(named=True):
        if tuple(row[axis] for axis in found.axes) in of_all:
            names = best_range.series([best_range.name(curve) for curve in changed])
            others = len(of_all) - 1
            more = f" ({others} other combination{'s are' if others > 1 else ' is'} as good)"
            settings = _settings(found, row)
            told = f"{settings[:1].upper()}{settings[1:]}"
            return [f"{told}: best for {names}{more if others else ''}."]
    return []


def _best_of(found: Summary, curve: Curve, best: dict[str, Any]) -> str:
    alike = _as_good(curve)
    word = "highest" if summary.more_is_better(curve.name) else "lowest"
    others = f"; no worse at {alike - 1} of the others" if alike > 1 else ""
    name = metrics.label(curve.name)
    return f"{name}: {_ends(curve)}, {word} with {_settings(found, best)}{others}."


def _unchanged(curve: Curve, value: float, along: Along | None, *, by_model: bool) -> str:
    name = metrics.label(curve.name)
    if along is not None and along.by is not None:
        setting = scenario_keys.label(along.x).within
        if by_model:
            return f"{name}: the model cannot tell the values of {setting} apart."
        return f"{name}: the same at all values of {setting}, within the intervals."
    if by_model:
        return f"{name}: {_ends(curve)} everywhere; the model cannot tell these apart."
    ends, one = _ends(curve), _text(value, curve.unit)
    everywhere = ends if " to " in ends and _differ(curve) else f"{one} at all points"
    return f"{name}: {everywhere}, within the intervals."


def _ends(curve: Curve) -> str:
    """Write from where to where a metric goes."""
    factor, unit = curve.scale
    values = [point.value / factor for point in curve.points]
    return f"{figures.number(min(values))} to {figures.number(max(values))} {unit}".strip()


def _differ(curve: Curve) -> bool:
    """Return whether the numbers of a metric look different, where its first digits are shown."""
    return len({_text(point.value, curve.unit) for point in curve.points}) > 1


def _text(value: float, unit: str) -> str:
    shown = quantity.text(value, None, unit)
    return f"{shown.value} {shown.unit}".strip()


def cards(found: Summary, curves: Sequence[Curve], along: Along | None = None) -> list[str]:
    """Return a tile for the best of each metric of which it is known what is better, as HTML."""
    result = []
    for curve in curves:
        best = _best(found, curve.name)
        if best is None or curve.is_nothing:
            continue
        values: list[float] = found.frame[curve.name].drop_nulls().to_list()
        factor, _ = quantity.scale(best[curve.name], curve.unit)
        ends = [figures.number(end / factor) for end in (min(values), max(values))]
        differs = differences.why_alike(curve, along) is None
        where = f"at {_keys(found, best)}" if differs else "no clear difference"
        label = metrics.label(curve.name)
        result.append(
            card(
                f"Best: {label}" if differs else label,
                _text(best[curve.name], curve.unit),
                f"of {ends[0]} to {ends[1]}; {where}",
            )
        )
    return result


def _settings(found: Summary, row: dict[str, Any]) -> str:
    settings = [_setting(axis, row[axis]) for axis in _varied(found)]
    return best_range.series(settings)


def _varied(found: Summary) -> list[str]:
    return [axis for axis in found.axes if found.frame[axis].n_unique() > 1] or found.axes


def _setting(axis: str, value: object) -> str:
    label = scenario_keys.label(axis)
    shown = figures.number(value) if isinstance(value, float) else str(value)
    return f"{label.within} = {shown} {label.unit}".strip()


def _keys(found: Summary, row: dict[str, Any]) -> str:
    return ", ".join(f"{axis} {row[axis]}" for axis in found.axes)


def _best(found: Summary, metric: str) -> dict[str, Any] | None:
    better = summary.more_is_better(metric)
    if better is None or found.frame[metric].null_count() == len(found.frame):
        return None
    ordered = found.frame.sort(metric, descending=better, nulls_last=True)
    return ordered.row(0, named=True)


def _as_good(curve: Curve) -> int:
    """Return how many points the intervals do not tell from the best, itself among them."""
    every = differences.known(curve)
    best = differences.best(curve.name, every)
    return sum(differences.by_intervals(one, best) for one in every)
