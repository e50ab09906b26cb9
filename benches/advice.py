"""Whether advice finds what an exhaustive search finds, with a twentieth of its points.

    python benches/advice.py [NAME...]
    SKIPLINE_KEPT=FOLDER python benches/advice.py [NAME...]   # goes on from the stores in there

Each case is a scenario, a goal, knobs and perhaps a bound. All combinations of the knobs are
simulated as briefly as the search simulates them; printed are their number, how many the search
tried, and how far its recommendation is from the best of all that keep the bounds. Ends with 1 if
one is more than 3 % off, or breaks a bound.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import skipline
from skipline import _core
from skipline.advise import knobs as knobs_of
from skipline.advise import search
from skipline.advise.advice import Request, advise
from skipline.advise.evaluation import BRIEF, Candidate
from skipline.advise.goal import Goal, Numbers
from skipline.diff import bound
from skipline.store.writing import Writer
from skipline.sweeps.axis import typed
from skipline.sweeps.drive import Options
from skipline.sweeps.engine import chosen

_L2FWD = "experiments/ddio-bench/l2fwd.toml"
_TWO = "experiments/atc20/two-nics-scenario.toml"
_SHORT = (("run.batch_packets", "512"),)
_MOST_OFF_PERCENT = 3.0
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
        _L2FWD, Goal.FREE_CORES, ("rx_descriptors", "ddio_ways", "cores", "tx_descriptors"),
        (("cores", "8"), ("rx_descriptors", "512")),
    ),
    "half": Case(_L2FWD, Goal.P99, _FORWARDING, (("offered_gbps", "50"),)),
    "ring": Case("examples/large-ring.toml", Goal.MEMORY_BANDWIDTH, _FORWARDING),
    "bound": Case(
        _L2FWD, Goal.MEMORY_BANDWIDTH, _FORWARDING, (), ("throughput_gbps>=1.01x", "p99<=0.9x")
    ),
    "two": Case(
        _TWO, Goal.P99,
        ("rx_descriptors", "ddio_ways", "tenant.0.ddio_ways", "tenant.0.rx_descriptors"),
        (), ("low-priority:throughput_gbps>=0.95x",),
    ),
}  # fmt: skip


def main() -> None:
    """Judge the cases that are named, or all."""
    failed = [name for name in (sys.argv[1:] or CASES) if not _judge(name, CASES[name])]
    sys.exit(bool(failed))


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
            advice = advise(request, writer, Options(chosen("local", None)), lambda *_: None)
        axes = {knob.key: ",".join(knob.values) for knob in knobs}
        metrics = advice.target.metrics
        stated = {key: typed(value) for key, value in (*fixed, *BRIEF.settings)}
        frame = skipline.sweep(
            case.scenario, axes, stated, store=store,
            metrics=[one for one in metrics if _there(store, one)],
        )  # fmt: skip
    rows: dict[Candidate, Numbers] = {}
    for row in frame.iter_rows(named=True):
        changed = [(k.key, v) for k in knobs if (v := _text(row[k.key], k)) != k.now]
        rows[tuple(sorted(changed))] = {one: row.get(one) for one in metrics}
    now = rows[()]
    costs = {}
    for candidate, numbers in rows.items():
        cost = advice.target.cost(dict(candidate), numbers, now)
        kept = all(_kept(numbers, now, one) for one in advice.target.bounds)
        if cost is not None and kept:
            costs[candidate] = cost
    best = min(costs.values(), default=float("nan"))
    found = costs.get(advice.candidate)
    off = float("inf") if found is None else 100 * (found - best) / abs(best)
    print(
        f"{name:10} {len(rows):5} combinations, {len(advice.tried):3} tried: "
        f"now {costs.get((), float('nan')):.5g}, best {best:.5g} "
        f"({dict(min(costs, key=costs.__getitem__, default=()))}), advised "
        f"{'breaks a bound' if found is None else f'{found:.5g}'}, {off:.2f} % off; "
        f"{dict(advice.candidate)}",
        flush=True,
    )
    return off <= _MOST_OFF_PERCENT


def _there(store: Path, name: str) -> bool:
    with skipline.Store(store) as opened:
        return name in opened.units()


def _kept(numbers: Numbers, now: Numbers, one: bound.Bound) -> bool:
    before, after = now.get(one.name), numbers.get(one.name)
    return before is not None and after is not None and one.excess(before, after) <= 0


def _text(value: object, knob: knobs_of.Knob) -> str:
    return next((text for text in knob.values if text == str(value)), str(value))


if __name__ == "__main__":
    main()
