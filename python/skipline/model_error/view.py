"""Model errors in words: one line beside results."""

from collections.abc import Iterable, Mapping

from skipline.model_error import intervals, kinds
from skipline.model_error.kinds import KINDS

_PAGE = "docs/evidence/model-error.md"
_OFFERED = "offered_gbps"
# Names of single numbers, shorter than those of metrics.
_NAMES = {
    "pcie_write_hit_rate": "write hits",
    "pcie_read_hit_rate": "read hits",
    "throughput_gbps": "throughput",
    "latency_ns.p50": "p50",
    "latency_ns.p99": "p99",
}


def line(values: Mapping[str, float | None]) -> str:
    """Return the sentence on the model's own error beside these numbers of a result, by metric.

    Numbers that nothing measured judges are named with the reason.
    """
    parts = [part for part in (_part(name, values) for name in _NAMES) if part]
    unknown = [
        f"{text} ({why})"
        for text, (metrics, why) in kinds.UNJUDGED.items()
        if any(values.get(metric) for metric in metrics)
    ]
    told = [
        *([f"{', '.join(parts)}, as errors on measured servers tell"] if parts else []),
        *([f"not known for {' and '.join(unknown)}"] if unknown else []),
    ]
    return f"Model error (90 %): {'; '.join(told)}. See {_PAGE}." if told else ""


def _part(metric: str, values: Mapping[str, float | None]) -> str:
    """Return the bounds of one number; empty if it is not there, or not of a kind with rows."""
    value, kind = values.get(metric), kinds.of_metric(metric)
    if value is None or kind is None or (kind.among and values.get(kind.among) is None):
        return ""
    interval = intervals.of_kind(kind)
    if interval is None:
        return ""
    low, high = interval.around(kind.times * value)
    offered = values.get(_OFFERED)
    if kind.name == "throughput" and offered:
        high = min(high, max(offered, value))
    unit = "%" if kind.unit == "percent" else kind.unit
    return f"{_NAMES[metric]} {_number(low)} to {_number(high)} {unit}"


def _number(value: float) -> str:
    return f"{value:,.3g}" if abs(value) < _THREE_DIGITS else f"{value:,.0f}"


_THREE_DIGITS = 1000


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


def general() -> str:
    """Return the sentence on the model's own error beside no number in particular."""
    known = [(kind.text, intervals.of_kind(kind)) for kind in KINDS]
    told = [f"{text} {error_text(interval)}" for text, interval in known if interval is not None]
    unknown = " and ".join(f"{text} ({why})" for text, (_, why) in kinds.UNJUDGED.items())
    return (
        f"Model error (90 %), as errors on measured servers tell: {'; '.join(told)}; not known for "
        f"{unknown}. See {_PAGE}."
    )
