"""The answer of a page in one sentence: of an experiment, of all claims."""

from collections.abc import Sequence

from skipline.claims.evidence import Evidence
from skipline.experiment.checks import ErrorVerdict
from skipline.experiment.claim import ClaimVerdict, got_text, number_text
from skipline.experiment.outcome import Outcome
from skipline.experiment.prediction import PredictionNow
from skipline.runs.result_view import readable
from skipline.text import quantity

# Verdicts that need a sentence come first.
_RANK = {"fails": 0, "undecided": 1, "holds": 2}


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
        told = f"The claim {claims[0].id} {'is undecided' if word == 'undecided' else word}"
        decisive = [check for check in claims[0].checks if check.word == word != "holds"]
        if not decisive or decisive[0].value is None:
            return told
        check = decisive[0]
        return f"{told} ({check.text}: {got_text(check)}, expected {check.expected})"
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
