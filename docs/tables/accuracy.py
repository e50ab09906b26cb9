"""The errors of the model beside the measured Gold 6140, and two numbers of the README."""

import json
import subprocess
import sys
from typing import Any, NamedTuple

from kept_results import REPOSITORY, Kept, read
from page_blocks import table

# Ran on the measured server; the first two have one core and formulas to compare with.
EXPERIMENTS = ["pktsize-desc", "ddio-tune", "pkt-rate", "process-time", "cores"]
ONE_CORE = EXPERIMENTS[:2]
COMMAND = f"skipline experiment run {' '.join(EXPERIMENTS)}"
_BASES = ("fitted", "predicted")
_VERDICT = ("name", "text", "value", "at_most", "unit", "numbers")
_GROUP = ("basis", "value", "numbers", "worst_error", "worst_text")


def measure() -> Kept:
    """Run the experiments; what was simulated before is taken from `reports/`."""
    everything, one_core = _run(EXPERIMENTS), _run(ONE_CORE)
    return {
        "command": COMMAND,
        "experiments": {
            entry["identifier"]: verdicts(entry["verdicts"]) for entry in everything["experiments"]
        },
        "together": verdicts(everything["together"]["verdicts"]),
        "one core": verdicts(one_core["together"]["verdicts"]),
        "formulas": [
            {"text": score["text"], "value": score["value"]}
            for score in one_core["together"]["trivial"]
        ],
    }


def verdicts(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what is kept of the checks of an experiment."""
    return [
        {
            **{key: verdict[key] for key in _VERDICT},
            "groups": [{key: group[key] for key in _GROUP} for group in verdict["groups"]],
        }
        for verdict in found
    ]


def _run(experiments: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "skipline", "experiment", "run", *experiments]
    done = subprocess.run(
        [*command, "--format", "json"], cwd=REPOSITORY, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def where_it_stands() -> str:
    """Return the table of errors, by what chose a parameter and what did not."""
    hits, throughput = (_named(read("fidelity")["together"], name) for name in _CHECKS)
    return table(
        ["", *_BASES, "all"],
        [
            [
                _text(hits),
                *(f"{one['value']:.2f}" for one in _groups(hits)),
                f"{hits['value']:.2f}",
            ],
            ["numbers compared", *_numbers(hits), str(hits["numbers"])],
            ["worst hit rate, pp", *_worst(hits), ""],
            [_text(throughput), *_worst(throughput), ""],
            ["numbers compared", *_numbers(throughput), str(throughput["numbers"])],
        ],
    )


_CHECKS = ("hit-rates", "throughput")


def _named(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(verdict for verdict in found if verdict["name"] == name)


def _text(verdict: dict[str, Any]) -> str:
    return f"{verdict['text']}, {verdict['unit']}"


def _groups(verdict: dict[str, Any]) -> list[dict[str, Any]]:
    by_basis = {group["basis"]: group for group in verdict["groups"]}
    return [by_basis[basis] for basis in _BASES]


def _numbers(verdict: dict[str, Any]) -> list[str]:
    return [str(group["numbers"]) for group in _groups(verdict)]


def _worst(verdict: dict[str, Any]) -> list[str]:
    return [f"{group['worst_error']:+.1f}" for group in _groups(verdict)]


def accuracy() -> str:
    """Return the table of the README: how close it is, and what that is worth."""
    found = read("fidelity")
    hits, throughput = (_named(found["together"], name) for name in _CHECKS)
    fitted, predicted = _groups(hits)
    one_core = _named(found["one core"], "hit-rates")
    formula = min(score["value"] for score in found["formulas"])
    largest = max(abs(group["worst_error"]) for group in _groups(throughput))
    return table(
        ["number", "made by", "what it is worth"],
        [
            [
                f"**{hits['value']:.1f} percentage points (pp)**: mean error of the "
                f"{hits['numbers']} hit rates that were measured below 99 % on a Gold 6140",
                f"`{COMMAND}`",
                f"{fitted['value']:.1f} pp for the {fitted['numbers']} of configurations that "
                f"chose one of nine parameters, {predicted['value']:.1f} for the other "
                f"{predicted['numbers']}: two cores at line rate disagree. "
                f"Of the {one_core['numbers']} of one core, a "
                f"one-line formula misses by {formula:.1f} pp, Skipline by {one_core['value']:.1f}",
            ],
            [
                f"**{largest:.1f} %**: largest error of throughput below what was offered, in "
                f"{throughput['numbers']} of the same measurements",
                "the same",
                "the formula knows neither throughput nor cores nor latency",
            ],
            _of_claims(),
        ],
    )


def _of_claims() -> list[str]:
    """Return the row of the README on claims: what holds, by what it rests on."""
    judged = [one for one in _judged() if one.source != "others"]
    simulated = [one for one in judged if one.shown_by == "simulation"]
    tested = [one for one in judged if one.shown_by == "tests" and one.verdict == "holds"]
    holds = [one.basis for one in simulated if one.verdict == "holds"]
    verdicts = [one.verdict for one in simulated]
    rest = ", ".join(
        f"{verdicts.count(verdict)} {word}"
        for verdict, word in (("fails", "fail"), ("undecided", "undecided"), ("weak", "weak"))
    )
    bases = ", ".join(f"{holds.count(basis)} {basis}" for basis in _HOLD[:3])
    return [
        f"**{len(holds)} of {len(simulated)}** simulated claims of five publications hold",
        "`skipline evidence`",
        f"{bases}; {rest}. Tests show the mechanisms of {len(tested)} others "
        "([by source](docs/evidence/failing-claims.md))",
    ]


# Claims of one source: what holds by basis, then what does not.
_HOLD = ("predicted", "fitted elsewhere", "fitted", "test", "test, in part")
_OTHERWISE = ("weak", "undecided", "fails", "not judged")


class JudgedClaim(NamedTuple):
    """The verdict on a claim, and whether simulation or tests show it."""

    source: str
    verdict: str
    basis: str
    shown_by: str


def measure_claims() -> Kept:
    """Judge all claims; what was simulated before is taken from `reports/`."""
    command = [sys.executable, "-m", "skipline", "evidence", "--format", "json"]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    return {
        "command": "skipline evidence",
        "claims": {
            claim["id"]: " | ".join(_judged_claim(claim))
            for claim in json.loads(done.stdout)["claims"]
        },
    }


def _judged_claim(claim: dict[str, Any]) -> JudgedClaim:
    """Return what is kept of a claim."""
    shown_by = "simulation" if claim["checks"] else "tests" if claim["tests"] else ""
    return JudgedClaim(claim["source"], claim["verdict"], claim["basis"] or "", shown_by)


def claims() -> str:
    """Return the table of claims: how many hold, by what they rest on, and how many do not."""
    judged = _judged()
    sources = dict.fromkeys(one.source for one in judged)
    body = [_claims(source, [one for one in judged if one.source == source]) for source in sources]
    header = ["source", "claims", *(f"hold, {basis}" for basis in _HOLD), *_OTHERWISE]
    listed = [one for one in judged if one.source != "others"]
    return table(header, [*body, _claims("all but others", listed)])


def _judged() -> list[JudgedClaim]:
    """Return the claims that are kept."""
    return [JudgedClaim(*line.split(" | ")) for line in read("claims")["claims"].values()]


def _claims(name: str, judged: list[JudgedClaim]) -> list[str]:
    hold = [sum(one[1:3] == ("holds", basis) for one in judged) for basis in _HOLD]
    otherwise = [sum(one.verdict == word for one in judged) for word in _OTHERWISE]
    return [name, *(str(count) for count in (len(judged), *hold, *otherwise))]
