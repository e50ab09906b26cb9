"""Claims, experiments and tests fit together, or what does not fit is named."""

from pathlib import Path

import pytest

from skipline import InputError
from skipline.claims import collection, failing_claims, recorded_tests, verdicts
from skipline.claims.pointers import Pointer
from skipline.experiment.claims_table import ClaimRow
from small_experiment import CLAIMS, CLAIMS_TABLE, record_that_tests, write_small_evidence

SHOWN = "tests/test_shown.py::test_it_is_shown"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_small_evidence(tmp_path)
    return tmp_path / "evidence"


def test_all_claims_are_collected_or_those_of_a_source(folder: Path) -> None:
    everything = collection.collect("evidence", [])
    assert [row.id for row in everything.rows] == ["x-01", "x-02", "y-01", "y-02"]
    assert [entry.identifier for entry in everything.entries] == ["two-rings"]
    another = collection.collect("evidence", ["another"])
    assert [row.id for row in another.rows] == ["y-01", "y-02"]
    assert another.entries == []
    assert folder.is_dir()


def test_a_claim_without_experiment_and_test_is_named(folder: Path) -> None:
    table = folder / "claims.csv"
    table.write_text(CLAIMS_TABLE + "x-03,made up,number,Open,1,\n")
    with pytest.raises(InputError, match="no experiment and no test for 1 of 5 claims: x-03;"):
        collection.collect("evidence", [])
    assert len(collection.collect("evidence", ["another"]).rows) == 2


def test_an_experiment_that_goes_beyond_a_source_is_collected_with_it(folder: Path) -> None:
    path = folder / "two-rings.toml"
    text = path.read_text().replace(CLAIMS, "")
    pointers = (folder / "tests.toml").read_text()
    judged = "".join(
        f'[[claim]]\nid = "{claim}"\ntest = ["{SHOWN}"]\n' for claim in ("x-01", "x-02")
    )
    (folder / "tests.toml").write_text(pointers + judged)
    path.write_text(text.replace("source =", 'beyond = "another"\nsource =', 1))
    for sources, found in (([], 1), (["another"], 1), (["made up"], 0)):
        assert len(collection.collect("evidence", sources).entries) == found
    path.write_text(text.replace("source =", 'beyond = "anther"\nsource =', 1))
    with pytest.raises(InputError, match=r"two-rings\.toml: beyond = anther: unknown.*'another'"):
        collection.collect("evidence", [])


def test_an_experiment_that_judges_claims_goes_beyond_nothing(folder: Path) -> None:
    path = folder / "two-rings.toml"
    path.write_text(path.read_text().replace("source =", 'beyond = "another"\nsource =', 1))
    with pytest.raises(InputError, match="beyond: an experiment that judges claims"):
        collection.collect("evidence", [])


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("two-rings.toml", CLAIMS, "", r"two-rings.toml: no \[\[claim\]\]"),
        ("two-rings.toml", '"x-02"', '"x-2"', "claim 'x-2': not in evidence/claims.csv.*'x-02'"),
        ("two-rings.toml", '"x-02"', '"x-01"', "claim 'x-01' is stated twice"),
        ("claims.csv", "x-02,", "x-01,", "claims.csv: line 3: claim 'x-01' is stated twice"),
        ("claims.csv", "x-02,", ",", "line 3: claim '' has no id"),
        ("claims.csv", "statement", "text", "column 'statement' is missing; columns: id"),
        ("tests.toml", "y-01", "y-1", "tests.toml: claim 'y-1': not in"),
        ("tests.toml", "y-02", "y-01", "tests.toml: claim 'y-01' is stated twice"),
        ("tests.toml", "test_it_is_shown", "test_it", "test_it': no such test in the file"),
        ("tests.toml", "test_it_is_shown", "it_helps", "it_helps': no such test in the file"),
        ("tests.toml", "test_it_is_shown", "test_it_was_shown", "no such test in the file"),
        ("tests.toml", SHOWN, "crates/shown.rs::it_helps", "no such test in the file"),
        ("tests.toml", "tests/test_shown.py", "evidence/tests.toml", "ending in .py or .rs"),
        ("tests.toml", "tests/test_shown", "tests/test_show", "claim 'y-01'.*no such file"),
        ("tests.toml", "tests/test_shown", "nowhere/test_shown", "claim 'y-01'.*no such file"),
        ("tests.toml", "tests/test_shown", "crates/test_shown", "claim 'y-01'.*no such file"),
        ("tests.toml", "::", "/", "write FILE::FUNCTION"),
        ("tests.toml", "reason", "note", "judged and reason belong together"),
        ("tests.toml", "judged", "juged", "key 'claim.1.juged': unknown.*'judged'"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    folder: Path, file: str, old: str, new: str, told: str
) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(InputError, match=told):
        collection.collect("evidence", [])


def test_a_claim_may_point_to_a_test_in_rust(folder: Path) -> None:
    path = folder / "tests.toml"
    path.write_text(path.read_text().replace(SHOWN, "crates/shown.rs::it_is_shown_in_rust"))
    assert collection.collect("evidence", ["another"]).tests_are_here


def test_a_record_of_tests_is_of_the_sources_that_they_ran_on(folder: Path) -> None:
    assert collection.collect("evidence", []).test_outcomes == {}
    record_that_tests(folder.parent, "passed")
    assert collection.collect("evidence", []).test_outcomes == {SHOWN: "passed"}
    before = recorded_tests.revision(folder.parent)
    for made in ("crates/target/debug/a.rs", "crates/__pycache__/a.pyc", "reports/page.html"):
        path = folder.parent / made
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert recorded_tests.revision(folder.parent) == before
    (folder.parent / "tests" / "test_shown.py").rename(folder.parent / "tests" / "test_moved.py")
    assert recorded_tests.revision(folder.parent) != before


@pytest.mark.parametrize("missing", ["crates", "tests/conftest.py"])
def test_tests_are_not_here_where_the_repository_is_not(folder: Path, missing: str) -> None:
    (folder.parent / missing).rename(folder.parent / "elsewhere")
    (folder.parent / "tests" / "test_shown.py").unlink()
    assert not collection.collect("evidence", ["another"]).tests_are_here


def test_an_identifier_names_one_experiment(folder: Path) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "two-rings.toml").write_text((folder / "two-rings.toml").read_text())
    with pytest.raises(InputError, match="identifier 'two-rings' is also that of"):
        collection.collect("evidence", [])


def test_an_unknown_source_and_a_missing_table_are_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"--source anther: unknown.*'another'.*made up, another"):
        collection.collect("evidence", ["anther"])
    (folder / "claims.csv").unlink()
    with pytest.raises(InputError, match=r"evidence/claims\.csv: no such file"):
        collection.collect("evidence", [])


FAILING = """# Title

## x-01: in two lines

- **Claim**: a statement
  in two lines.
- **Tried**: nothing.

## x-021: another

- **Tried**: all of it.

# A chapter

- **Tried**: not a section's.
"""


def test_the_section_of_a_claim_has_its_fields_each_on_one_line() -> None:
    found = failing_claims.sections(FAILING)
    assert list(found) == ["x-01", "x-021"]
    assert found["x-01"].title == "in two lines"
    assert found["x-01"].fields == {"Claim": "a statement in two lines.", "Tried": "nothing."}
    assert found["x-021"].fields == {"Tried": "all of it."}
    assert failing_claims.without_section(found, ["x-01", "x-02", "x-2"]) == ["x-02", "x-2"]


@pytest.mark.parametrize(
    ("more", "basis", "note"),
    [
        ({}, "test", []),
        ({"missing": "a card"}, "test, in part", ["The tests do not show: a card"]),
        ({"fitted_on": "54 medians"}, "fitted", ["Fitted on 54 medians"]),
    ],
)
def test_a_claim_that_tests_show_says_what_they_leave_out_or_rest_on(
    more: dict[str, str], basis: str, note: list[str]
) -> None:
    row = ClaimRow("y-01", "another", "mechanism", "It is so", "", "")
    known = collection.Collection(
        [row], [], {"y-01": Pointer(id="y-01", test=[SHOWN], **more)}, True, {SHOWN: "passed"}
    )
    (judged,) = verdicts.judge_all(known, [])
    assert (judged.verdict, judged.basis, judged.notes) == ("holds", basis, note)
