"""The values of a setting that are as good as any in all metrics, and what the others cost."""

from collections.abc import Collection, Iterator, Sequence

from skipline.report import differences, losses
from skipline.report import sweep_figures as figures
from skipline.report.curves import Along, Curve
from skipline.report.differences import Known
from skipline.scenarios import metrics, scenario_keys
from skipline.scenarios.scenario_keys import Label
from skipline.store import summary
from skipline.store.curves import curve_name

# From here on a difference has no decimals.
_WHOLE = 100
# The least value of this setting that serves a steady load may be too few for bursts.
_RING = "rx_descriptors"


def sentence(curves: Sequence[Curve], along: Along) -> str:
    """State where all of these metrics are best along a setting, else what the trade-off is.

    It is known of each what is better, and it changes. A value is as good as the best one where
    neither intervals nor the model's own error tell them apart.
    """
    wanted = losses.acceptable(along.loss, along.x) if along.is_choice else None
    tried = _values([*curves, *filter(None, [along.loss])], along)
    order, every = tried, curves
    if wanted:
        # A metric may have no value at any of these.
        both = [(curve, _only(curve, along, wanted)) for curve in curves]
        every = [curve for curve, own in both if own.points]
        curves = [own for _, own in both if own.points]
        order = [value for value in tried if value in wanted]
    good = [{one.point.axes[along.x] for one in differences.as_good(one)} for one in curves]
    of_all = [value for value in order if all(value in own for own in good)]
    words = scenario_keys.label(along.x).words
    if not curves:
        told = f"{words}: choose {_range(of_all, order)}; the others lose more packets."
    elif of_all:
        names = series([name(curve) for curve in curves])
        values, is_one = _range(of_all, order), len(of_all) == 1
        if along.is_choice and _are_neighbours(of_all, order):
            best = f"choose {values}, {'best' if is_one else 'as good as any'}"
        else:
            best = f"{values} {'is best' if is_one else 'are as good as any'}"
        told = f"{words}: {best} for {names}."
    else:
        sides: dict[str, list[str]] = {}
        for curve, own in zip(curves, good, strict=True):
            side = _range([value for value in order if value in own], order)
            sides.setdefault(side, []).append(name(curve))
        parts = [f"{side} for {series(own)}" for side, own in sides.items()]
        told = f"{words}: no value is best for all; best is {', but '.join(parts)}."
    ends = [end for end in dict.fromkeys((tried[0], tried[-1])) if end not in of_all]
    costs = [_cost(every, curves, along, end) for end in ends]
    return " ".join([told, *filter(None, costs), *_beyond(along, of_all, tried)])


def _is_worse(end: Known, best: Known, metric: str) -> bool:
    """Return whether an end is told apart from the best, and on the worse side of it."""
    if differences.by_intervals(end, best) or differences.by_model(end, best):
        return False
    return (end.point.value < best.point.value) is bool(summary.more_is_better(metric))


def _only(curve: Curve, along: Along, wanted: Collection[object]) -> Curve:
    """Return a curve without the values that are not wanted."""
    kept = [one for one in differences.known(curve) if one.point.axes[along.x] in wanted]
    return curve._replace(points=[one.point for one in kept], bands=[one.band for one in kept])


def _beyond(along: Along, of_all: Sequence[object], order: Sequence[object]) -> Iterator[str]:
    """Yield what advice to choose these values leaves open."""
    if not along.is_choice or not of_all or len(of_all) == len(order):
        return
    # Where packets are lost whatever is chosen, rings are not the reason.
    if along.x.endswith(_RING) and _is_ordered(order) and not losses.lost_anyway(along.loss):
        packets = f"{_shown(of_all[-1])} packets"
        yield f"Bursts of more than {packets} for a queue may be lost."
    if _is_ordered(order) and order[-1] in of_all:
        yield "No larger value was tried."
    elif _is_ordered(order) and order[0] in of_all:
        yield "No smaller value was tried."


def _cost(every: Sequence[Curve], wanted: Sequence[Curve], along: Along, end: object) -> str:
    """Say how much worse the metrics are at an end of the setting than where they are best.

    The best are of the curves with values that are wanted; the end may be none of them.
    """
    parts = []
    for curve, own in zip(every, wanted, strict=True):
        known = [one for one in differences.known(curve) if one.point.axes[along.x] == end]
        best_of_own = differences.best(curve.name, differences.known(own))
        if not known or not _is_worse(known[0], best_of_own, curve.name):
            continue
        factor, unit = curve.scale
        difference = abs(known[0].point.value - best_of_own.point.value) / factor
        worse = "lower" if summary.more_is_better(curve.name) else "higher"
        shown = f"{_text(difference)} {'pp' if unit == '%' else unit}".strip()
        parts.append(f"{name(curve)} {shown} {worse}")
    return f"With {_shown(end)}: {'; '.join(parts)}." if parts else ""


def _values(curves: Sequence[Curve], along: Along) -> list[object]:
    """Return the values of the setting: numbers by their size, others as the sweep has them."""
    every = [point.axes[along.x] for curve in curves for point in curve.points]
    unique = list(dict.fromkeys(every))
    return sorted(unique) if _is_ordered(unique) else unique


def _range(chosen: Sequence[object], order: Sequence[object]) -> str:
    """Write values: from one to another if none between is missing, and they have an order."""
    texts = [_shown(one) for one in chosen]
    if _are_neighbours(chosen, order) and _is_ordered(order) and texts[1:]:
        return f"{texts[0]} to {texts[-1]}"
    return series(texts)


def _are_neighbours(chosen: Sequence[object], order: Sequence[object]) -> bool:
    first = order.index(chosen[0])
    return list(order[first : first + len(chosen)]) == list(chosen)


def _is_ordered(values: Sequence[object]) -> bool:
    return all(isinstance(one, int | float) for one in values)


def _shown(value: object) -> str:
    return figures.number(value) if isinstance(value, float) else curve_name(value)


def name(curve: Curve) -> str:
    """Return what a metric is called within a sentence."""
    # Commas divide names, not parts of one.
    return Label(metrics.label(curve.name).replace(", ", " "), "").within


def _text(difference: float) -> str:
    return f"{difference:,.0f}" if difference >= _WHOLE else f"{difference:.2g}"


def series(names: Sequence[str]) -> str:
    """Write names as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
