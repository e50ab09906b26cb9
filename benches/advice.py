"""Whether advice finds what an exhaustive search finds, with a twentieth of its points.

    python benches/advice.py [NAME...]
    python benches/advice.py --seconds 30 [NAME...]
    SKIPLINE_KEPT=FOLDER python benches/advice.py [NAME...]   # goes on from the stores in there

Each case is a scenario, a goal, knobs and perhaps a bound. All combinations of the knobs are
simulated as briefly as the search simulates them; printed are their number, how many the search
tried, the best of all that keep the bounds, and how far the recommendation is from it: both
settled, with five seeds, since brief runs tell a small number from a smaller one by chance. Ends
with 1 if one is more than 3 % off, or breaks a bound.

With --seconds each case is asked with that budget alone: printed are the time of the whole and what
is recommended. Ends with 1 if one takes more than 1.1 times its budget, or if a change that is
recommended is not significant.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from skipline import _core
from skipline.advice import knobs as knobs_of
from skipline.advice import search
from skipline.advice.advice import Advice, Request, advise
from skipline.advice.evaluation import BRIEF, SETTLED, Candidate, Evaluator, Fidelity, means
from skipline.advice.goal import Goal, Numbers
from skipline.diff import bound
from skipline.store.writing import Writer
from skipline.sweeps.drive import Options
from skipline.sweeps.engine import parse_engine

_L2FWD = "experiments/ddio-bench/l2fwd.toml"
_TWO = "experiments/atc20/two-nics-scenario.toml"
_SHORT = (("run.batch_packets", "512"),)
_MOST_OFF_PERCENT = 3.0
# Of the time of a budget, the whole command may take so much.
_MOST_TIME = 1.1
# Of the best in brief runs so many run settled: the first that then keeps its bounds is the best.
_LEADERS = 8
_FORWARDING = ("rx_descriptors", "ddio_ways", "tx_descriptors", "core_way_mask")


class Case(NamedTuple):
    """A question whose best answer is known after all combinations have run."""

    scenario: str
    goal: Goal
    knobs: tuple[str, ...]
    fixed: tuple[tuple[str, str], ...] = ()
    bounds: tuple[str, ...] = ()


CASES = {
    "p99": Case(_L2FWD, Goal.P99, _FORWARDING),
    "throughput": Case(_L2FWD, Goal.THROUGHPUT, _FORWARDING),
    "memory": Case(_L2FWD, Goal.MEMORY_BANDWIDTH, _FORWARDING),
    "small": Case(_L2FWD, Goal.THROUGHPUT, _FORWARDING, (("packet_bytes", "64"),)),
    "cpu": Case(
        _L2FWD, Goal.P99, ("rx_descriptors", "ddio_ways", "cores", "tx_descriptors"),
        (("rng_calls", "100"),),
    ),
    "cores": Case(
        "examples/forward-100g.toml", Goal.FREE_CORES,
        ("rx_descriptors", "core_way_mask", "cores", "tx_descriptors"),
    ),
    "half": Case(_L2FWD, Goal.P99, _FORWARDING, (("offered_gbps", "50"),)),
    "medium": Case(_L2FWD, Goal.MEMORY_BANDWIDTH, _FORWARDING, (("packet_bytes", "512"),)),
    "bound": Case(
        _L2FWD, Goal.THROUGHPUT, _FORWARDING, (), ("p99<=0.15x",)
    ),
    "copies": Case(
        "experiments/asplos24/copy-scenario.toml", Goal.THROUGHPUT,
        ("offload.depth", "offload.batch", "offload.cache_control", "dsa.engines"),
        (("offload.transfer_bytes", "1024"),),
    ),
    "two": Case(
        _TWO, Goal.P99,
        ("rx_descriptors", "ddio_ways", "tenant.0.ddio_ways", "tenant.0.rx_descriptors"),
        (), ("low-priority:throughput_gbps>=0.95x",),
    ),
}  # fmt: skip


def main() -> None:
    """Judge the cases that are named, or all."""
    words = sys.argv[1:]
    if words[:1] == ["--seconds"]:
        limit_s = float(words[1])
        failed = [one for one in (words[2:] or CASES) if not _in_time(one, CASES[one], limit_s)]
    else:
        failed = [name for name in (words or CASES) if not _judge(name, CASES[name])]
    sys.exit(bool(failed))


def _in_time(name: str, case: Case, limit_s: float) -> bool:
    """Ask as users do, by the command, and look at its time and its words."""
    began = time.monotonic()
    command = [sys.executable, "-m", "skipline", "advise", case.scenario, "--format", "json"]
    command += ["--goal", case.goal.value, "--knobs", ",".join(case.knobs)]
    command += ["--budget", f"{limit_s:.0f}s"]
    for key, value in case.fixed:
        command += ["--set", f"{key}={value}"]
    for bound_text in case.bounds:
        command += ["--constraint", bound_text]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - began
    if done.returncode:
        print(f"{name:10} {done.stderr.strip()}", flush=True)
        return False
    found = json.loads(done.stdout)
    noise = [
        part["key"]
        for part in found["parts"]
        if part["difference"] is not None and part["difference"] + (part["ci95"] or 0.0) >= 0
    ]
    in_time = took_s <= _MOST_TIME * limit_s
    cost = found["cost"]
    gain = f"{cost['before']:.5g} -> {cost['now']:.5g}" if cost else "nothing better"
    print(
        f"{name:10} {took_s:6.1f} s{'' if in_time else ', which is too long'}; {found['tried']} of "
        f"{found['combinations']} tried, {found['settled']} in {found['runs']} with "
        f"{found['seeds']} seeds; {gain} by {found['settings']}"
        f"{f'; not significant: {noise}' if noise else ''}; undone: {found['undone'] or 'nothing'}",
        flush=True,
    )
    return in_time and not noise


def _judge(name: str, case: Case) -> bool:
    fixed = (*case.fixed, *_SHORT)
    resolved = json.loads(_core.check_scenario(case.scenario, list(fixed)))
    knobs = knobs_of.of_scenario(case.scenario, fixed, resolved, case.knobs)
    budget = int(search.SHARE * search.combinations(knobs))
    bounds = tuple(bound.parse(text, "--constraint") for text in case.bounds)
    request = Request(case.scenario, fixed, case.goal, case.knobs, bounds, budget, None, 1)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(os.environ.get("SKIPLINE_KEPT", folder)) / f"{name}.duckdb"
        with Writer(str(store)) as writer:
            advice = advise(request, writer, Options(parse_engine("local", None)), lambda *_: None)
        every = [
            tuple(sorted((k.key, v) for k, v in zip(knobs, values, strict=True) if v != k.now))
            for values in itertools.product(*(knob.values for knob in knobs))
        ]
        rows = dict(zip(every, _measured(case, store, every, advice, BRIEF), strict=True))
    now = rows[()]
    costs = {}
    for candidate, numbers in rows.items():
        cost = advice.target.cost(dict(candidate), numbers, now)
        kept = all(_kept(numbers, now, one) for one in advice.target.bounds)
        if cost is not None and kept:
            costs[candidate] = cost
    of = advice.target.cost
    leaders = sorted(costs, key=costs.__getitem__)[:_LEADERS]
    asked = [(), advice.candidate, *leaders]
    present, advised, *optima = _measured(case, store, asked, advice, SETTLED)
    best, optimum = next(
        (
            (leader, numbers)
            for leader, numbers in zip(leaders, optima, strict=True)
            if all(_kept(numbers, present, one) for one in advice.target.bounds)
        ),
        ((), present),
    )
    least = of(dict(best), optimum, present) or 0.0
    found = of(dict(advice.candidate), advised, present) or 0.0
    kept = all(_kept(advised, present, one) for one in advice.target.bounds)
    off = 100 * (found - least) / abs(least)
    print(
        f"{name:10} {len(rows):5} combinations, {len(advice.tried):3} tried; now "
        f"{of({}, present, present):.5g}, best {least:.5g} by {dict(best)}, advised {found:.5g}"
        f"{'' if kept else ', which breaks a bound,'} by {dict(advice.candidate)}: {off:.2f} % off",
        flush=True,
    )
    return kept and off <= _MOST_OFF_PERCENT


def _measured(
    case: Case, store: Path, candidates: list[Candidate], advice: Advice, fidelity: Fidelity
) -> list[Numbers]:
    """Return the means of runs; what the search has simulated is in the store."""
    keys = sorted({key for candidate in candidates for key, _ in candidate})
    fixed = (*case.fixed, *_SHORT)
    evaluator = Evaluator(case.scenario, fixed, keys, advice.target.metrics, 1)
    with Writer(str(store)) as writer:
        options = Options(parse_engine("local", None))
        found = evaluator.evaluate(candidates, fidelity, writer, options, lambda *_: None)
    return [means(one) for one in found]


def _kept(numbers: Numbers, now: Numbers, one: bound.Bound) -> bool:
    before, after = now.get(one.name), numbers.get(one.name)
    return before is not None and after is not None and one.excess(before, after) <= 0


if __name__ == "__main__":
    main()
