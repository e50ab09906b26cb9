"""Changes the model a little, and tells which claims notice.

    python tests/mutations.py [--all] [FILE] [NAME...]

A change that no claim notices could be made, or be wrong, without anybody's knowing. A claim
notices one if a check of it comes out otherwise than without; checks that come out otherwise with
other seeds, too, notice nothing. FILE names a claim for each change. Only experiments that judge
this claim are simulated; --all simulates all of FILE's. Ends with 1 unless each change is noticed
by its claim.
Points are kept in reports/mutations/points.duckdb: an interrupted run goes on where it stopped.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from skipline import _core
from skipline._core import InputError
from skipline.experiment import catalogue, claim_verdicts, runner, table
from skipline.experiment.axis import Setting, Table
from skipline.experiment.catalogue import Entry
from skipline.experiment.points import Point, points
from skipline.experiment.runner import Batch, Finished
from skipline.platforms import platform_facts
from skipline.text import terminal, toml_model

FILE = "tests/mutations.toml"
STORE = Path("reports/mutations/points.duckdb")
# With whose seeds checks have to come out alike to count.
SEEDS = range(1, 3)
_FACTS = "hardware."

# Whether each check holds, by claim and text.
Checks = dict[tuple[str, str], bool]


class Mutation(Table):
    """A change of the model, or of one platform: settings, and factors of what points have."""

    name: str
    claim: str
    platform: str | None = None
    set: dict[str, Setting] = Field(default={})
    times: dict[str, float] = Field(default={})


class Mutations(Table):
    """The file: the changes, and the experiments that may notice them."""

    experiments: list[str] = Field(min_length=1)
    mutation: list[Mutation] = Field(min_length=1)


class Noticed(NamedTuple):
    """Which checks notice a change, of how many points that it reaches."""

    name: str
    claim: str
    checks: list[tuple[str, str]]
    reached: int
    points: int

    @property
    def claims(self) -> list[str]:
        """The claims that notice it."""
        return list(dict.fromkeys(claim for claim, _ in self.checks))

    @property
    def by_its_claim(self) -> bool:
        """Whether the claim that the file names is among them."""
        return self.claim in self.claims


def mutated(point: Point, mutation: Mutation) -> Point:
    """Return a point with a change, or as it is if its machine or application lacks the key."""
    resolved = json.loads(_core.check_scenario(point.scenario, point.overrides))
    if mutation.platform not in {None, resolved["platform"]}:
        return point
    changed: dict[str, Setting] = dict(point.settings) | {
        key: value
        for key, value in mutation.set.items()
        if not key.startswith(_FACTS) or _fact(key, point, resolved) is not None
    }
    for key, factor in mutation.times.items():
        had = _fact(key, point, resolved) if key.startswith(_FACTS) else resolved.get(key)
        if isinstance(had, int | float) and had:
            product = had * factor
            changed[key] = round(product) if isinstance(had, int) else product
    other = replace(point, settings=changed)
    try:
        told = json.loads(_core.check_scenario(other.scenario, other.overrides))
    except InputError:
        return point
    return point if told == resolved else other


def _fact(key: str, point: Point, resolved: Mapping[str, Any]) -> Any:
    """Return a fact of a point's platform, or what the point has in its place."""
    name = key.removeprefix(_FACTS)
    if name in resolved.get("hardware", {}):
        return resolved["hardware"][name]
    found = platform_facts.facts(resolved["platform"], point.scenario)
    return next((fact.value for fact in found if fact.key == name), None)


def checks_of(entry: Entry, finished: Sequence[Finished]) -> Checks:
    """Judge all checks of an experiment by its points; where a number is missing, none holds."""
    whole = table.build(entry.identifier, entry.experiment, list(finished))
    rows = table.comparisons(table.simulated(entry.experiment, whole))
    found: Checks = {}
    for claim in entry.experiment.claim:
        experiment = entry.experiment.model_copy(update={"claim": [claim]})
        try:
            (one,) = claim_verdicts.of_experiment(
                entry._replace(experiment=experiment), finished, rows
            )
        except (InputError, ZeroDivisionError):
            found |= {(claim.id, check.text): False for check in claim.check}
        else:
            found |= {(claim.id, check.text): check.holds for check in one.checks}
    return found


class Judge:
    """Simulates experiments with a change, and judges their checks."""

    def __init__(self, entries: Sequence[Entry], store: Path, jobs: int) -> None:
        self._entries = [(entry, without_null_models(entry)) for entry in entries]
        self._store, self._jobs = store, jobs

    def noticed(self, mutation: Mutation) -> Noticed:
        """Compare the checks of a change with those without it, by two seeds."""
        before = [self._checks(Mutation(name="none", claim=""), seed)[0] for seed in SEEDS]
        settled = {check for check in before[0] if len({seen[check] for seen in before}) == 1}
        after, reached, count = self._checks(mutation, SEEDS[0])
        differ = sorted(check for check in settled if after[check] != before[0][check])
        return Noticed(mutation.name, mutation.claim, differ, reached, count)

    def _checks(self, mutation: Mutation, seed: int) -> tuple[Checks, int, int]:
        """Return the checks, how many points the change reaches, and of how many."""
        batches: list[Batch] = []
        seeds = range(seed, seed + 1)
        for entry, _ in self._entries:
            own = points(entry)
            other = [mutated(point, mutation) for point in own]
            changed = [after for before, after in zip(own, other, strict=True) if after != before]
            kept = [before for before, after in zip(own, other, strict=True) if after == before]
            for some, name in ((kept, "none"), (changed, mutation.name)):
                title = f"{entry.identifier}: {name}"
                batches.append(Batch(title, some, seeds, str(self._store)))
        with terminal.progress_bar(mutation.name) as bar:
            ran = runner.run(batches, self._jobs, bar)
        found: Checks = {}
        for (entry, bare), kept_ran, changed_ran in zip(
            self._entries, ran[::2], ran[1::2], strict=True
        ):
            done = {one.point.label: one for one in kept_ran.finished + changed_ran.finished}
            found |= checks_of(bare, [done[point.label] for point in points(entry)])
        counts = [len(batch.points) for batch in batches]
        return found, sum(counts[1::2]), sum(counts)


def without_null_models(entry: Entry) -> Entry:
    """Return an experiment whose claims are judged as they are, by one seed."""
    claims = [claim.model_copy(update={"null": []}) for claim in entry.experiment.claim]
    return entry._replace(experiment=entry.experiment.model_copy(update={"claim": claims}))


def main(words: Sequence[str]) -> int:
    """Try all changes, or those of these names."""
    everywhere = "--all" in words
    words = [word for word in words if word != "--all"]
    path = words[0] if words else FILE
    known = toml_model.load(Mutations, Path(path).read_text(), path)
    chosen = [one for one in known.mutation if not words[1:] or one.name in words[1:]]
    if missing := set(words[1:]) - {one.name for one in chosen}:
        names = ", ".join(one.name for one in known.mutation)
        raise InputError(f"{path}: no mutation '{min(missing)}'; there are: {names}")
    entries = [catalogue.find(name) for name in known.experiments]
    STORE.parent.mkdir(parents=True, exist_ok=True)
    found = []
    for mutation in chosen:
        looking = entries if everywhere else judging(mutation, entries, path)
        found.append(Judge(looking, STORE, os.cpu_count() or 1).noticed(mutation))
        print(told(found[-1]), flush=True)
    noticed = sum(one.by_its_claim for one in found)
    print(f"{noticed} of {len(found)} changes are noticed by the claims that {path} names.")
    return 0 if noticed == len(found) else 1


def judging(mutation: Mutation, entries: Sequence[Entry], path: str) -> list[Entry]:
    """Return the experiments that judge the claim of a mutation."""
    found = [
        entry
        for entry in entries
        if any(claim.id == mutation.claim for claim in entry.experiment.claim)
    ]
    if not found:
        raise InputError(
            f"{path}: mutation '{mutation.name}': no experiment of the list judges the claim "
            f"'{mutation.claim}'; name one that 'skipline evidence' lists, or add its experiment"
        )
    return found


def told(one: Noticed) -> str:
    """Say who notices a change."""
    claims = ", ".join(one.claims) or "nobody"
    missed = "" if one.by_its_claim else f"; NOT {one.claim}"
    return f"{one.name} ({one.reached} of {one.points} points): {claims}{missed}"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
