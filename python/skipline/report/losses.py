"""Values of a setting that lose packets: whatever else they are best for, nobody wants them."""

from collections.abc import Sequence

from skipline.report import differences
from skipline.report.curves import Curve
from skipline.store.curves import CurvePoint, curve_name

# The share of packets that arrived.
METRIC = "rx_loss_rate"
# More values are counted, not named.
_MOST_NAMED = 4
# Where all points lose packets, a share up to so many times the least rules no value out.
_ABOUT = 1.1


def _is_free(point: CurvePoint) -> bool:
    """Return whether no seed has lost a packet."""
    return not any(point.singles or (point.value,))


def acceptable(loss: Curve | None, x: str) -> set[object] | None:
    """Return the values that lose nothing, else those that lose about least; None if all do so."""
    if loss is None:
        return None
    chosen = [point for point in loss.points if _is_free(point)]
    if not chosen:
        least = min(point.value for point in loss.points)
        alike = [one.point for one in differences.as_good(loss)]
        about = [point for point in loss.points if point.value <= _ABOUT * least]
        chosen = [*alike, *about]
    values = {point.axes[x] for point in chosen}
    return None if len(values) == len(loss.points) else values


def lost_anyway(loss: Curve | None) -> bool:
    """Return whether packets are lost at all points."""
    return loss is not None and not any(_is_free(point) for point in loss.points)


def statement(loss: Curve, x: str, by: str | None = None) -> str:
    """Say at which values packets are lost, and how many; of several curves at how many points."""
    lossy = [point for point in loss.points if not _is_free(point)]
    if not lossy:
        return "Nothing is lost at any point."
    if by is not None:
        at = f"{len(lossy)} of {len(loss.points)} points"
        return f"Packets are lost at {at}: {_shares(lossy)} of those that arrive."
    if lost_anyway(loss):
        told = f"Packets are lost at all points: {_shares(lossy)} of those that arrive."
        return told if acceptable(loss, x) else f"{told} This setting does not change that."
    names = list(dict.fromkeys(curve_name(point.axes[x]) for point in lossy))
    at = ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} points"
    return f"Packets are lost with {at}: {_shares(lossy)} of those that arrive; else none."


def _shares(lossy: Sequence[CurvePoint]) -> str:
    values = [point.value for point in lossy]
    low, high = (f"{end:.2g}" for end in (min(values), max(values)))
    return f"{low} %" if low == high else f"{low} to {high} %"
