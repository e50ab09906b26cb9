"""Simulates candidates: briefly with one seed, or settled with several; all of them in a store."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from skipline.diff.side import Figure
from skipline.store.store import Store
from skipline.store.writing import Writer
from skipline.sweeps import drive
from skipline.sweeps.axis import Axis
from skipline.sweeps.definition import Definition
from skipline.sweeps.drive import Options

# A candidate: the settings that it changes.
Candidate = tuple[tuple[str, str], ...]
Progress = Callable[[float, str], None]
# Numbers of a candidate by name and seed.
Measured = dict[str, dict[int, Figure]]


class Fidelity(NamedTuple):
    """The effort for a candidate: settings of the run, and the number of seeds.

    A cheaper mode of simulation is another one of these.
    """

    name: str
    settings: tuple[tuple[str, str], ...]
    seeds: int
    runs: str = "runs to the end"


# The fewest batches that a run may have: wide intervals, but the same packets for all candidates.
_SHORT = (("run.max_batches", "10"),)
BRIEF = Fidelity("brief", _SHORT, 1, "short runs")
# Where there is no time for runs to the end: what differs from seed to seed is told all the same.
REPEATED = Fidelity("repeated", _SHORT, 5, "short runs")
# As a scenario runs by itself: how long that takes, and the fewest seeds that give an interval.
ONCE = Fidelity("once", (), 1)
FEW = Fidelity("few", (), 3)
# As the scenario runs by itself; fewer seeds give no interval that is of use.
SETTLED = Fidelity("settled", (), 5)
# Where five seeds do not tell: the tail of a machine near saturation differs from seed to seed.
CERTAIN = Fidelity("certain", (), 15)


class Evaluator:
    """Simulates candidates of one scenario and remembers them."""

    def __init__(
        self,
        scenario: str,
        fixed: Sequence[tuple[str, str]],
        keys: Sequence[str],
        metrics: Sequence[str],
        seed: int,
    ) -> None:
        self._scenario = scenario
        self._fixed = tuple(fixed)
        self._keys = tuple(keys)
        self._metrics = list(metrics)
        self._seed = seed
        self._known: dict[tuple[str, Candidate], Measured] = {}

    def points(self, fidelity: Fidelity) -> int:
        """Return how many candidates were simulated so."""
        return sum(1 for name, _ in self._known if name == fidelity.name)

    def is_known(self, candidate: Candidate, fidelity: Fidelity) -> bool:
        """Return whether a candidate was simulated so."""
        return (fidelity.name, candidate) in self._known

    def evaluate(
        self,
        candidates: Sequence[Candidate],
        fidelity: Fidelity,
        writer: Writer,
        options: Options,
        progress: Progress,
    ) -> list[Measured]:
        """Return the numbers of each candidate; those that are not known are simulated.

        A candidate has none if it cannot be, or if the time was over before its runs had ended.
        """
        new = [one for one in dict.fromkeys(candidates) if (fidelity.name, one) not in self._known]
        if new:
            self._simulate(new, fidelity, writer, options, progress)
        return [self._known.get((fidelity.name, one), {}) for one in candidates]

    def _simulate(
        self,
        new: Sequence[Candidate],
        fidelity: Fidelity,
        writer: Writer,
        options: Options,
        progress: Progress,
    ) -> None:
        rows: list[tuple[str | None, ...]] = []
        for candidate in new:
            changed = dict(candidate)
            rows.append(tuple(changed.get(key) for key in self._keys))
        stated = {key for key, _ in self._fixed}
        settings = tuple(pair for pair in fidelity.settings if pair[0] not in stated)
        definition = Definition(
            self._scenario,
            (Axis(self._keys, rows),),
            (*self._fixed, *settings),
            repeats=fidelity.seeds,
            seed=self._seed,
        )
        # Changes that do not go together make a candidate that cannot be, not a wrong question.
        options = options._replace(impossible_values=True)
        summary = drive.run_into(writer, definition, options, progress)
        found = _figures(Store.of(writer.connection), summary.sweep, self._metrics)
        for at, candidate in enumerate(new):
            own = {
                name: {
                    seed: figure
                    for (ordinal, seed), figure in figures.items()
                    if ordinal // fidelity.seeds == at
                }
                for name, figures in found.items()
            }
            ended = {seed for figures in own.values() for seed in figures}
            if not summary.missing or len(ended) == fidelity.seeds:
                self._known[fidelity.name, candidate] = {n: f for n, f in own.items() if f}


def _figures(
    store: Store, sweep: int, metrics: Sequence[str]
) -> dict[str, dict[tuple[int, int], Figure]]:
    found: dict[str, dict[tuple[int, int], Figure]] = {name: {} for name in metrics}
    rows = store.connection.rows(
        "SELECT ordinal, seed, concat_ws('.', metric, component) AS name, value, ci95 FROM results "
        "WHERE sweep = ? AND NOT stale AND value IS NOT NULL AND "
        "concat_ws('.', metric, component) IN (SELECT unnest(?::VARCHAR[]))",
        [sweep, list(metrics)],
    )
    for ordinal, seed, name, value, ci95 in rows:
        found[name][ordinal, seed] = Figure(value, ci95)
    return found


def means(measured: Measured) -> dict[str, float | None]:
    """Return the mean of each number over the seeds."""
    return {
        name: sum(one.value for one in figures.values()) / len(figures)
        for name, figures in measured.items()
    }
