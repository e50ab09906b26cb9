"""The answer of a page in one sentence: of a run, of an experiment, of all claims."""

from collections.abc import Sequence

from skipline.evidence.evidence import Evidence
from skipline.experiment.checks import ErrorVerdict
from skipline.experiment.claim import ClaimVerdict, got_text, number_text
from skipline.experiment.outcome import Outcome
from skipline.experiment.prediction import PredictionNow
from skipline.runs.result import Result
from skipline.runs.result_view import readable
from skipline.text import quantity

# A loss of a smaller share is not worth a sentence of its own.
_LEAST_SHARE_PERCENT = 0.01
_SSD = (("ssd_read_gbytes_per_s", "read from"), ("ssd_write_gbytes_per_s", "written to"))

# Verdicts that need a sentence come first.
_RANK = {"fails": 0, "undecided": 1, "holds": 2}


def of_run(result: Result) -> str:
    """Return what the result says of itself; for one of an older version, what its numbers say."""
    if result.answer:
        return result.answer
    parts = [part for part in (_traffic(result), _drops(result), _latency(result)) if part]
    sentence = "; ".join(parts) or "It counted no work that was done"
    return f"{sentence[0].upper()}{sentence[1:]}."


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


def of_experiment(outcome: Outcome) -> str:
    """Return how many claims hold, which do not, and the main number."""
    summary = outcome.summary
    parts = []
    if summary.claims:
        parts.append(_claims(summary.claims))
    if summary.verdicts:
        parts.append(_error(summary.verdicts[0]))
    elif number := _first_number(summary.claims):
        parts.append(number)
    elif summary.predictions:
        parts += [_prediction(one) for one in summary.predictions]
    else:
        parts.append(_range(outcome))
    return f"{'; '.join(part for part in parts if part)}."


def _prediction(one: PredictionNow) -> str:
    """Return what was registered and what this version gives."""
    bounds = f"{number_text(one.low)} to {number_text(one.high, one.unit)}"
    return f"{one.text}: {number_text(one.now, one.unit)}, registered as {bounds}"


def _claims(claims: Sequence[ClaimVerdict]) -> str:
    failing = [claim.id for claim in claims if claim.word == "fails"]
    undecided = [claim.id for claim in claims if claim.word == "undecided"]
    held, count = len(claims) - len(failing) - len(undecided), len(claims)
    if count == 1:
        word = claims[0].word
        return f"The claim {claims[0].id} {'is undecided' if word == 'undecided' else word}"
    if held == count:
        return f"All {count} claims hold"
    parts = [f"{held} of {count} claims hold"]
    if failing:
        parts.append(f"{_series(failing)} {'fails' if len(failing) == 1 else 'fail'}")
    if undecided:
        parts.append(f"{_series(undecided)} {'is' if len(undecided) == 1 else 'are'} undecided")
    return ", ".join(parts)


def _error(verdict: ErrorVerdict) -> str:
    """Return the model's error: over predicted points, if there are any."""
    group = verdict.group("predicted") or verdict.group("fitted")
    if group is None:
        return ""
    within = "within" if group.value <= verdict.at_most else "beyond"
    return (
        f"{verdict.text} is {group.value:.1f} {verdict.unit} over {group.numbers} {group.basis} "
        f"{'number' if group.numbers == 1 else 'numbers'}, "
        f"{within} the limit of {verdict.at_most:g}"
    )


def _first_number(claims: Sequence[ClaimVerdict]) -> str:
    """Return the result of the first check with a number, of failing ones if there are any."""
    numbers = [(c.id, check) for c in claims for check in c.checks if check.value is not None]
    for claim, check in sorted(numbers, key=lambda number: _RANK[number[1].word]):
        return f"{claim}, {check.text}: {got_text(check)}, expected {check.expected}"
    return ""


def _range(outcome: Outcome) -> str:
    first = outcome.summary.experiment.metric[0]
    rows = [row for row in outcome.simulated if row.metric == first.name]
    if not rows:
        return f"{first.label} has no value"
    ends = [min(rows, key=lambda row: row.predicted), max(rows, key=lambda row: row.predicted)]
    low, high = (quantity.text(row.predicted, row.ci95, row.unit) for row in ends)
    return (
        f"{first.label} is between {low.value} {low.unit} ({readable(ends[0].point_name)}) and "
        f"{high.value} {high.unit} ({readable(ends[1].point_name)})"
    )


def of_evidence(evidence: Evidence) -> str:
    """Return how many of all claims hold, and how many of each source."""
    counts = {name: counted for name, counted in evidence.counts.items() if name != "all"}
    whole = evidence.counts["all"]
    failing = [judgement.row.id for judgement in evidence.failing]
    sentence = f"{whole['holds']} of {_judged(whole)} judged claims hold"
    if len(counts) > 1:
        by_source = (f"{name} {one['holds']} of {_judged(one)}" for name, one in counts.items())
        sentence += f" ({', '.join(by_source)})"
    if whole["weak"]:
        sentence += f"; {whole['weak']} {'is' if whole['weak'] == 1 else 'are'} weak"
    if whole["undecided"]:
        sentence += f"; {whole['undecided']} {'is' if whole['undecided'] == 1 else 'are'} undecided"
    if failing:
        sentence += f"; {len(failing)} {'fails' if len(failing) == 1 else 'fail'}"
    rest = whole["claims"] - _judged(whole)
    return sentence + (f"; {rest} {'is' if rest == 1 else 'are'} not judged here." if rest else ".")


def _judged(counted: dict[str, int]) -> int:
    return sum(counted[word] for word in ("holds", "weak", "undecided", "fails"))


def _series(names: Sequence[str]) -> str:
    """Write names as a sentence lists them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
