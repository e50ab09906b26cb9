"""A window of a server beside its simulation: where they differ, what leaks, what limits."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skipline import _core
from skipline._core import InputError
from skipline.diff import change, comparison, recording, sides
from skipline.diff.comparison import Found
from skipline.diff.side import SINGLE, Figure, Side
from skipline.host import observed
from skipline.host.observed import Observed
from skipline.runs import result
from skipline.runs import seeds as side_by_side
from skipline.runs.result import Result
from skipline.text import quantity

Progress = Callable[[float], None]

WRITE_HITS = "pcie_write_hit_rate"
_NAMES = {
    WRITE_HITS: "device writes that hit",
    "pcie_read_hit_rate": "device reads that hit",
    "pcie_write_lines_per_s": "lines that devices write",
    "pcie_read_lines_per_s": "lines that devices read",
    "dram_read_gbytes_per_s": "DRAM reads",
    "dram_write_gbytes_per_s": "DRAM writes",
}
# Model and window are taken to agree up to here: percentage points of hit rates; of rates a share
# of the larger one, and what other programs move unseen, in GB/s.
_MOST_POINTS = 10.0
_MOST_SHARE = 0.25
_MOST_DRAM_GBYTES_PER_S = 1.0
# From here on writes of devices do not leak: the least hit rate, in percent.
LEAST_HITS = 98.0


class Disagreement(NamedTuple):
    """A number in which model and window differ by more than is taken for agreement."""

    name: str
    found: Found

    @property
    def text(self) -> str:
        """The disagreement in a clause."""
        both = (self.found.change.before, self.found.change.now)
        model, window = (quantity.text(value, None, self.found.unit) for value in both)
        return f"{_NAMES.get(self.name, self.name)}: model {joined(model)}, window {joined(window)}"


class Explanation(NamedTuple):
    """A simulated scenario, and its comparison with the windows of the server; None without any."""

    scenario: str
    observed: Observed
    result: Result
    compared: comparison.Comparison | None
    why_not_compared: str

    @property
    def disagreements(self) -> list[Disagreement]:
        """What differs, the hit rate of writes first."""
        found = self.compared.found if self.compared else []
        return [Disagreement(one.change.name, one) for one in found if differs(one)]

    @property
    def verdict(self) -> str:
        """Whether model and window agree, and what may be the reason if not, in sentences."""
        if self.compared is None:
            return f"The model stands alone: {self.why_not_compared}."
        if not self.disagreements:
            names = ", ".join(_NAMES.get(one.change.name, "") for one in self.compared.found)
            return f"Model and window agree: {names}."
        told = "; ".join(one.text for one in self.disagreements)
        return f"Model and window disagree. {told[0].upper()}{told[1:]}. {self._suspects}"

    @property
    def _suspects(self) -> str:
        assumed = [value.key for value in self.observed.of_origin("assumed")]
        asked = [text.partition(":")[0] for text in self.observed.asked]
        reasons = [
            f"{what}: {', '.join(dict.fromkeys(keys))}"
            for what, keys in (("nobody has answered", asked), ("assumed", assumed))
            if keys
        ]
        if not reasons:
            return "No value of the scenario is assumed: the model itself is off here."
        return f"What may be the reason: {'; '.join(reasons)}. Until they agree, advice is a guess."

    @property
    def leak(self) -> str:
        """What leaks, by the window where it counts and else by the model."""
        counted = self._counted(WRITE_HITS)
        who = "The model" if counted is None else "The window"
        hits = _figure(self.result, WRITE_HITS) if counted is None else counted
        if hits is None:
            return "No device writes, so that nothing leaks."
        half = "" if hits.ci95 is None else f" ± {hits.ci95:.1f}"
        if hits.value >= LEAST_HITS:
            return (
                f"{who} shows no leak: {hits.value:.1f}{half} % of the lines that devices write "
                "hit."
            )
        missed = 100 - hits.value
        return f"{who} shows a leak: {missed:.1f}{half} % of the lines that devices write miss."

    def _counted(self, name: str) -> Figure | None:
        """Return what the windows count, with the scatter of the windows."""
        if self.compared is None:
            return None
        windows = self.compared.now.runs.get(SINGLE, {})
        own = {number: run[name] for number, run in windows.items() if name in run}
        return change.summary(own) if own else None

    @property
    def is_well(self) -> bool:
        """Whether nothing leaks and nothing is dropped: then there is nothing to advise."""
        dropped = _figure(self.result, "rx_dropped")
        return "no leak" in self.leak and not (dropped and dropped.value)

    def as_json(self) -> dict[str, Any]:
        """Return everything for programs."""
        return {
            "scenario": self.scenario,
            "agree": None if self.compared is None else not self.disagreements,
            "verdict": self.verdict,
            "leak": self.leak,
            "answer": self.result.answer,
            "limits": [
                {"resource": one.resource, "utilisation_percent": one.utilisation_percent}
                for one in self.result.limits
            ],
            "compared": self.compared.as_json()["changes"] if self.compared else [],
            "disagreements": [one.name for one in self.disagreements],
            "assumed": [value._asdict() for value in self.observed.of_origin("assumed")],
            "asked": self.observed.asked,
            "unread": self.observed.unread,
        }


def _figure(found: Result, name: str) -> Figure | None:
    metric = found.metrics.get(name)
    if metric is None or metric.value is None or isinstance(metric.value, dict):
        return None
    return Figure(metric.value, None if isinstance(metric.ci95, dict) else metric.ci95)


def joined(text: quantity.Text) -> str:
    """Return a value with its unit."""
    return " ".join(part for part in (text.value, text.unit) if part)


def differs(found: Found) -> bool:
    """Return whether model and window differ by more than is taken for agreement."""
    name, model, window = found.change.name, found.change.before, found.change.now
    difference = abs(found.change.difference)
    if name.endswith("hit_rate"):
        return difference > _MOST_POINTS
    if name.startswith("dram") and difference <= _MOST_DRAM_GBYTES_PER_S and window > model:
        # Other programs move bytes that the model does not know.
        return False
    return difference > _MOST_SHARE * max(abs(model), abs(window))


def explain(
    scenario: str,
    overrides: Sequence[tuple[str, str]],
    windows: Path | None,
    seeds: range,
    progress: Progress,
) -> Explanation:
    """Simulate an observed scenario with each seed and compare it with its windows."""
    pairs = list(overrides)
    _core.check_scenario(scenario, pairs)
    counted, why = _counted(scenario, windows)
    texts = side_by_side.run(scenario, pairs, seeds, progress)
    found = [result.parse(text, scenario) for text in texts]
    compared = None
    if counted is not None:
        resolved = json.loads(_core.check_scenario(scenario, pairs))
        model = sides.of_results(scenario, found, resolved)
        compared = comparison.compare(model, counted, [])
    told = observed.read(scenario).without({key for key, _ in pairs})
    return Explanation(scenario, told, found[0], compared, why)


def _counted(scenario: str, windows: Path | None) -> tuple[Side | None, str]:
    """Return what the windows count; None with the reason if nothing."""
    file = windows or observed.windows_beside(Path(scenario))
    if not file.is_file():
        if windows is not None:
            raise InputError(f"--windows {windows}: no such file")
        return None, f"there is no {file.name} beside the scenario"
    try:
        return recording.of_recording(str(file), None), ""
    except InputError as error:
        if windows is not None:
            raise
        return None, str(error)
