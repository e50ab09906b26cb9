"""The claims of the repository: each is judged, each experiment judges one, each test exists."""

import csv
import json
import re

import pytest

from command_line import REPOSITORY
from skipline.claims import collection, failing_claims, pointers
from skipline.experiment import catalogue, claim_verdicts, claims_table
from skipline.experiment.claim import Claim
from skipline.experiment.points import points

FOLDER = "experiments"
COUNTS = {"blog": 13, "atc20": 37, "ispass20": 21, "eurosys19": 16, "asplos24": 42}
# Results of the sources that no claim had: our own rows.
ADDED = 7
# Claims on tools that do not exist yet.
MAY_BE_OPEN = {"atc-09", "atc-11", "atc-28", "atc-35"}
# Policies that the model does not have.
MAY_BE_OPEN |= {"slice-16"}


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)


def test_all_claims_of_the_sources_are_listed() -> None:
    rows = claims_table.read(f"{FOLDER}/claims.csv")
    assert {key: sum(row.source_key == key for row in rows) for key in COUNTS} == COUNTS
    assert len(rows) == sum(COUNTS.values()) + ADDED
    assert all(row.is_counted_apart == row.id.startswith("x-") for row in rows)


def test_every_test_that_a_claim_points_to_exists_and_only_tools_stay_open() -> None:
    found = pointers.read(FOLDER)
    assert found
    assert {pointer.id for pointer in found if pointer.judged} <= MAY_BE_OPEN


def test_every_experiment_has_points_references_and_claims_that_can_be_judged() -> None:
    known = {row.id for row in claims_table.read(f"{FOLDER}/claims.csv")}
    for path in catalogue.paths(FOLDER):
        entry = catalogue.load(path)
        assert points(entry), path
        claim_verdicts.check_before(entry)
        judged = {claim.id for claim in entry.experiment.claim}
        assert judged or entry.experiment.beyond or entry.experiment.prediction, path
        assert judged <= known, path


def test_no_claim_lacks_a_scenario_and_no_scenario_a_claim() -> None:
    collection.collect(FOLDER, [])


def test_the_claims_table_is_as_wide_as_its_header() -> None:
    with (REPOSITORY / FOLDER / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert {len(row) for row in rows} == {6}


def test_every_section_on_a_failing_claim_is_of_a_listed_claim_and_complete() -> None:
    explained = failing_claims.read(FOLDER)
    known = {row.id for row in claims_table.read(f"{FOLDER}/claims.csv")}
    assert explained
    assert set(explained) <= known
    for claim, section in explained.items():
        assert tuple(section.fields) == failing_claims.FIELDS, claim


def test_pages_count_the_claims_that_are_listed_and_explained() -> None:
    listed = claims_table.read(f"{FOLDER}/claims.csv")
    rows = {row.id for row in listed if not row.is_counted_apart}
    judged = {claim.id for path in catalogue.paths(FOLDER) for claim in _claims(path)}
    page = (REPOSITORY / failing_claims.FILE).read_text()
    counted = re.search(r"(\d+) of (\d+) published claims fail, (\d+) depend .*?\(([^)]*)\)", page)
    assert counted
    undecided = counted[4].replace("\n", " ").split(", ")
    explained = failing_claims.read(FOLDER).keys() & rows
    assert int(counted[3]) == len(undecided) and set(undecided) <= explained
    assert (int(counted[1]), int(counted[2])) == (len(explained) - len(undecided), len(rows))
    tested = {pointer.id for pointer in pointers.read(FOLDER) if pointer.judged is None} - judged
    # The table of the README is made of these verdicts.
    kept = json.loads((REPOSITORY / "docs/evidence/kept/claims.json").read_text())["claims"]
    assert set(kept) == {row.id for row in listed}
    verdicts = {claim: line.split(" | ") for claim, line in kept.items() if claim in rows}
    words = [verdict for _, verdict, _, _ in verdicts.values()]
    assert (words.count("fails"), words.count("undecided")) == (int(counted[1]), len(undecided))
    assert {claim for claim, (*_, shown) in verdicts.items() if shown == "tests"} == tested


def _claims(path: str) -> list[Claim]:
    return catalogue.load(path).experiment.claim


# All their claims fail, far outside of what seeds change, and their points take long.
FEW_SEEDS = {
    "haswell",
    "interference",
    "message-passing",
    "nvme-tcp",
    "operations",
    "pkt-rate",
    "process-time",
    "redis",
    "ways",
}


def test_every_claim_has_an_interval_and_percentiles_have_ten_seeds() -> None:
    few = set()
    for path in catalogue.paths(FOLDER):
        entry = catalogue.load(path)
        checks = [check.value for claim in entry.experiment.claim for check in claim.check]
        fewest = 10 if any("p99" in value for value in checks) else 5
        if checks and entry.experiment.repeats < fewest:
            few.add(entry.identifier)
    assert few == FEW_SEEDS
