"""An experiment whose rates are made up, to test how claims are judged by them."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from skipline.experiment.catalogue import Entry
from skipline.experiment.points import of_null_models, points
from skipline.experiment.runner import Finished
from skipline.runs.result import parse
from skipline.store import kept_results

EXPERIMENT = """
title = "t"
question = "q"
source = "a paper"
scenario = "s.toml"
fit_points = [{ size = 512 }]
skip = [{ size = 512, mode = "off" }]

[[axis]]
key = "size"
values = [64, 512]
label = "size"
role = "x"

[[axis]]
key = "mode"
label = "mode"
role = "panel"
[[axis.case]]
name = "on"
[[axis.case]]
name = "off"
set = { "x.y" = 1 }

[reference]
source = "text"
[[reference.stated]]
metric = "rate"
unit = "Mpps"
along = "size"
points = [[64, 10.0], [512, 20.0]]

[[metric]]
name = "latency_ns.p99.9"
label = "tail"
times = 0.001
unit = "us"

[[metric]]
name = "rx_mpps"
label = "rate"
reference = "rate"
"""

CLAIM = """
[[claim]]
id = "c-1"
[[claim.check]]
text = "a check"
"""


RUN: dict[str, object] = {
    "scenario": {},
    "seed": 1,
    "version": "0",
    "platform": "skylake-gold-6140",
    "slice_function": "",
    "simulated_ns": 1,
    "warmup_ns": 0,
    "packets": 1,
    "batches": 1,
    "stopped_by": "cap",
    "settled": True,
    "wall_s": 1,
    "line_ops": 1,
    "line_ops_per_s": 1,
    "real_time_factor": 1,
}

NONE: Mapping[str, object] = MappingProxyType({})


def finished(
    entry: Entry, mores: Sequence[float] = (0.0, 2.0), more_facts: Mapping[str, object] = NONE
) -> list[Finished]:
    """A repeat of each point for each of `mores`: rates are size / 10 and this much more.

    Where the mode is off they are 1 higher still; in simulated null models they are 0 and `mores`.
    """
    done = []
    own = points(entry)
    for point in [*own, *of_null_models(entry, own)]:
        rate = float(point.axes["size"]) / 10 + (point.axes["mode"] == "off")
        if point.null:
            rate = 0.0
        repeats = []
        for more in mores:
            metrics: dict[str, object] = {
                "rx_mpps": {"value": rate + more, "ci95": 0.5, "unit": "Mpps"},
                "latency_ns": {"value": {"p99": 1.0, "p99.9": 2000.0}, "unit": "ns"},
                "low:rx_mpps": {"value": 3.0, "unit": "Mpps"},
                "nothing": {"value": None, "unit": "ns"},
            }
            text = json.dumps(RUN | {"metrics": metrics} | dict(more_facts))
            result = parse(text, "made up")
            repeats.append(kept_results.from_result(result))
        done.append(Finished(point, repeats))
    return done
