"""Model errors in words: one line beside results."""

from collections.abc import Iterable, Mapping

from skipline.model_error import intervals, kinds
from skipline.model_error.kinds import KINDS, Kind
from skipline.model_error.rows import kept

_PAGE = "docs/evidence/model-error.md"
_OFFERED, _RATE_ENDING = "offered_gbps", "_gbps"
_FAR, _UNJUDGED = "nothing measured near it", "nothing measured judges it"
# Names of single numbers, shorter than those of metrics.
_NAMES = {
    "pcie_write_hit_rate": "write hits",
    "pcie_read_hit_rate": "read hits",
    "throughput_gbps": "throughput",
    "received_gbps": "received",
    "latency_ns.p50": "p50",
    "latency_ns.p99": "p99",
}


def line(values: Mapping[str, float | None]) -> str:
    """Return the sentence on the model's own error beside these numbers of a result, by metric.

    They are those of the main tenant. Numbers that nothing measured judges are named with the
    reason.
    """
    parts = [part for part in (_part(name, values) for name in _NAMES) if part]
    unknown = [
        f"{text} ({why})"
        for text, (metrics, why) in kinds.UNJUDGED.items()
        if any(values.get(metric) for metric in metrics)
    ]
    unknown += [f"{name} ({_FAR})" for name in _far_names(values)]
    told = [
        *([f"{', '.join(parts)}, as errors on measured servers tell"] if parts else []),
        *([f"not known for {' and '.join(unknown)}"] if unknown else []),
    ]
    return f"Model error (90 %): {'; '.join(told) or 'not known'}. See {_PAGE}."


def _part(metric: str, values: Mapping[str, float | None]) -> str:
    """Return the bounds of one number; empty if it is not there, or not of a kind with rows."""
    interval, value = _interval(metric, values), values.get(metric)
    if interval is None or value is None:
        return ""
    kind = interval.kind
    if kind.times * value >= kind.below:
        return f"{_NAMES[metric]} {_among_the_highest(kind)}"
    known = bounds(metric, values)
    if known is None:
        return ""
    low, high = (kind.times * end for end in known)
    unit = "%" if kind.unit == "percent" else kind.unit
    return f"{_NAMES[metric]} {_number(low)} to {_number(high)} {unit}"


def bounds(metric: str, values: Mapping[str, float | None]) -> tuple[float, float] | None:
    """Return what a number among these may be, in its own unit, as `line` tells it.

    None where nothing measured is near it, or judges its kind.
    """
    interval, value = _interval(metric, values), values.get(metric)
    if interval is None or value is None:
        return None
    kind = interval.kind
    known = kind.times * value
    if known >= kind.below or not interval.reaches(known):
        return None
    low, high = (end / kind.times for end in interval.around(known))
    offered = values.get(_OFFERED)
    if metric.endswith(_RATE_ENDING) and offered:
        high = min(high, max(offered, value))
    return low, high


def why_unknown(metric: str, values: Mapping[str, float | None]) -> str:
    """Say why `bounds` has none for a number among these; empty for a number that is nothing."""
    if not values.get(metric):
        return ""
    interval = _interval(metric, values)
    if interval is None:
        judged = kinds.UNJUDGED.values()
        return next((why for metrics, why in judged if metric in metrics), _UNJUDGED)
    known = interval.kind.times * (values[metric] or 0.0)
    if known >= interval.kind.below:
        return _among_the_highest(interval.kind)
    return "" if interval.reaches(known) else _FAR


def _among_the_highest(kind: Kind) -> str:
    """Say how numbers came out that are too high for an interval."""
    errors = [
        row.measured - row.simulated
        for row in kept()
        if row.kind == kind.name and row.simulated >= kind.below
    ]
    close = sum(abs(error) <= _CLOSE for error in errors)
    return (
        f"from {kind.below:g} % on: {close} of {len(errors)} such were within {_CLOSE:g} pp, the "
        f"lowest {-min(errors):.0f} below"
    )


def _interval(metric: str, values: Mapping[str, float | None]) -> intervals.Interval | None:
    """Return the interval of the kind that a number of a result is of."""
    kind = kinds.of_metric(metric)
    if not values.get(metric) or kind is None or (kind.among and not values.get(kind.among)):
        return None
    return intervals.of_kind(kind)


def _far_names(values: Mapping[str, float | None]) -> list[str]:
    """Return the numbers that are smaller or larger than all that were measured."""
    found = []
    for metric, name in _NAMES.items():
        interval, value = _interval(metric, values), values.get(metric)
        if interval is not None and value is not None:
            known = interval.kind.times * value
            found += [name] * (known < interval.kind.below and not interval.reaches(known))
    return found


def _number(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < _THREE_DIGITS else f"{value:,.0f}"


_THREE_DIGITS = 1000
# A hit rate so near to the simulated one, in percentage points, counts as met.
_CLOSE = 2.0


def of_numbers(entries: Iterable[tuple[str, float | None]]) -> str:
    """Return `line` of numbers by their names; of several with one name the first counts."""
    values: dict[str, float | None] = {}
    for name, value in entries:
        values.setdefault(name.removeprefix("main:"), value)
    return line(values)


def error_text(interval: intervals.Interval) -> str:
    """Write the errors of a kind: for people, in its unit."""
    kind = interval.kind
    if kind.name == "hit-rate":
        at = ", ".join(
            f"{interval.high * kind.scale(percent):.1f} at {percent:g} %" for percent in _SHOWN
        )
        return f"± pp: {at}"
    if kind.is_even:
        return f"± {100 * interval.high:.1f} %"
    return f"{interval.low:+.0f} to {interval.high:+.0f} {kind.unit}"


# Hit rates at which their error is shown.
_SHOWN = (50.0, 90.0, 99.0)


def general(metrics: Iterable[str] | None = None) -> str:
    """Return the sentence on the model's own error beside no number in particular.

    With `metrics` it is of the kinds of these alone, of whatever tenant.
    """
    names = None if metrics is None else {name.rpartition(":")[2] for name in metrics}
    shown = [kind for kind in KINDS if names is None or names.intersection(kind.metrics)]
    known = [(kind, intervals.of_kind(kind)) for kind in shown]
    told = [f"{kind.text} {error_text(it)}{_least(it)}" for kind, it in known if it is not None]
    unjudged = [
        (f"{text} ({why})", set(judged))
        for text, (judged, why) in kinds.UNJUDGED.items()
        if names is None or names.intersection(judged)
    ]
    of_kinds = set().union(*(kind.metrics for kind in shown), *(judged for _, judged in unjudged))
    left = sorted((names or set()) - of_kinds)
    unknown = " and ".join([*(text for text, _ in unjudged), *left])
    parts = [
        *([f"as errors on measured servers tell: {'; '.join(told)}"] if told else []),
        *([f"not known for {unknown}"] if unknown else []),
    ]
    return f"Model error (90 %), {'; '.join(parts) or 'not known'}. See {_PAGE}."


def _least(interval: intervals.Interval) -> str:
    """Say below which rate nothing was measured."""
    if interval.kind.unit != "percent" or not interval.least:
        return ""
    return f" (nothing was measured below {interval.least:.0f} %)"
