"""The answer of a run in one sentence."""

from skipline.runs.result import Result
from skipline.text import quantity

# A loss of a smaller share is not worth a sentence of its own.
_LEAST_SHARE_PERCENT = 0.01
_SSD = (("ssd_read_gbytes_per_s", "read from"), ("ssd_write_gbytes_per_s", "written to"))


def of_run(result: Result) -> str:
    """Return what the result says of itself; for one of an older version, what its numbers say."""
    if result.answer:
        return result.answer
    parts = [part for part in (_traffic(result), _drops(result), _latency(result)) if part]
    sentences = parts or ["it counted no work that was done"]
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in sentences)


def _traffic(result: Result) -> str:
    """Return how much arrived and left, or how much work was done."""
    offered, sent = _number(result, "offered_gbps"), _number(result, "throughput_gbps")
    if offered:
        done, verb = ("throughput_gbps", "leave again") if sent else ("received_gbps", "arrive")
        if _number(result, done):
            before = _text(result, "offered_gbps")
            return f"of the {before} offered, {_text(result, done)} {verb}"
    if sent:
        return f"{_text(result, 'throughput_gbps')} leave the host"
    moved = [
        f"{_text(result, name)} are {verb} the SSDs" for name, verb in _SSD if _number(result, name)
    ]
    if moved:
        return " and ".join(moved)
    work = _number(result, "work_per_s")
    return f"the cores complete {work:,.0f} units of work per second" if work else ""


def _drops(result: Result) -> str:
    received, dropped = _number(result, "rx_packets"), _number(result, "rx_dropped")
    if received is None or dropped is None or received + dropped == 0:
        return ""
    share = 100 * dropped / (received + dropped)
    if dropped == 0:
        return "no packet is dropped"
    if share < _LEAST_SHARE_PERCENT:
        return f"{dropped:,.0f} packets are dropped"
    return f"{quantity.text(share, None, 'percent').value} % of the packets are dropped"


def _latency(result: Result) -> str:
    metric = result.metrics.get("latency_ns")
    figures = {entry.component: entry for entry in metric.entries("latency_ns")} if metric else {}
    slow = figures.get("p99")
    if slow is None or slow.value is None:
        return ""
    text = quantity.text(slow.value, slow.ci95, slow.unit)
    return f"99 % take at most {text.value} {text.unit}"


def _number(result: Result, name: str) -> float | None:
    """Return a metric of the main tenant; None where it is not, or has no value."""
    metric = result.metrics.get(name)
    value = metric.value if metric else None
    return None if value is None or isinstance(value, dict) else float(value)


def _text(result: Result, name: str) -> str:
    entry = next(result.metrics[name].entries(name))
    text = quantity.text(entry.value, entry.ci95, entry.unit)
    return f"{text.value} {text.unit}"
