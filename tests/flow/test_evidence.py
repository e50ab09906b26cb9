"""`skipline evidence` judges every claim, keeps what it simulated and says what is wrong."""

import csv
import io
import json
import signal
from pathlib import Path

import pytest

from command_line import Outcome, Skipline
from on_terminal import on_a_terminal, read_rest, read_until
from skipline import Store
from skipline.claims import failing_claims
from small_experiment import (
    CLAIMS,
    record_that_tests,
    write_small_evidence,
    write_small_experiment,
)

COMMAND = ("evidence", "--experiments", "evidence")


@pytest.fixture
def judged(skipline: Skipline, tmp_path: Path) -> Outcome:
    write_small_evidence(tmp_path)
    record_that_tests(tmp_path, "passed")
    explained = tmp_path / failing_claims.FILE
    explained.parent.mkdir(parents=True)
    explained.write_text("## x-02: no hits\n\n- **Tried**: it was made to fail.\n")
    return skipline(*COMMAND, "--format", "json")


def test_json_has_every_claim_with_verdict_basis_and_checks(judged: Outcome) -> None:
    assert judged.code == 0, judged.err
    found = {claim["id"]: claim for claim in judged.json["claims"]}
    assert list(found) == ["x-01", "x-02", "y-01", "y-02"]
    verdicts = {name: (claim["verdict"], claim["basis"]) for name, claim in found.items()}
    assert verdicts == {
        # Any rate above one percent would do, also that of the other ring.
        "x-01": ("weak", "fitted elsewhere"),
        "x-02": ("fails", "fitted"),
        "y-01": ("holds", "test"),
        "y-02": ("not judged", None),
    }
    assert {"source", "expected", "got", "experiment"} <= set(found["x-01"])
    assert found["x-01"]["experiment"] == "two-rings"
    assert [check["holds"] for check in found["x-02"]["checks"]] == [False, True]
    assert found["y-01"]["tests"] == ["tests/test_shown.py::test_it_is_shown"]
    assert found["y-02"]["notes"] == ["the tool does not exist"]


def test_json_counts_by_source_and_times_by_experiment(judged: Outcome) -> None:
    counts = judged.json["counts"]
    assert counts["all"]["claims"] == 4
    assert [counts["made up"][name] for name in ("holds", "weak", "fails")] == [0, 1, 1]
    assert (counts["all"]["simulated"], counts["all"]["simulated hold"]) == (2, 0)
    assert (counts["another"]["test"], counts["another"]["not judged"]) == (1, 1)
    assert counts["all"]["fitted"] == counts["all"]["fitted elsewhere"] == 1
    assert counts["all"]["predicted"] == 0
    (experiment,) = judged.json["experiments"]
    assert (experiment["id"], experiment["points"], experiment["reused"]) == ("two-rings", 2, 0)
    assert experiment["wall_s"] >= experiment["simulated_wall_s"] > 0


def test_a_second_call_reuses_points_also_those_of_a_single_experiment(
    judged: Outcome, skipline: Skipline
) -> None:
    again = skipline(*COMMAND, "--format", "json")
    assert again.json["experiments"][0]["reused"] == 2
    assert again.json["claims"] == judged.json["claims"]
    single = skipline("experiment", "run", "evidence/two-rings.toml")
    assert "0 points simulated, 2 reused" in single.out


def test_a_claim_holds_if_it_fails_in_a_null_model(skipline: Skipline, tmp_path: Path) -> None:
    write_small_evidence(tmp_path)
    path = tmp_path / "evidence" / "two-rings.toml"
    plain = path.read_text()
    alone = 'at("pcie_write_hit_rate", rx_descriptors=256)'
    differs = f'{alone} != at("pcie_write_hit_rate", rx_descriptors=512)'

    def first() -> tuple[str, list[str]]:
        claim = skipline(*COMMAND, "--source", "made up", "--format", "json").json["claims"][0]
        return claim["verdict"], claim["refuted_by"]

    path.write_text(plain.replace(f"'{alone}'\nat_least = 1\nunit", f"'{differs}'\nunit"))
    assert first() == ("holds", ["RX descriptors: no effect"])
    named = '[[claim.null]]\nname = "large"\nas_at = { rx_descriptors = 512 }\n'
    before = 'unit = "percent"\n\n[[claim]]\nid = "x-02"'
    path.write_text(plain.replace(before, named + before.partition("\n")[2]))
    assert first() == ("weak", [])
    path.write_text(
        path.read_text().replace("as_at = { rx_descriptors = 512", "as_at = { ring = 1")
    )
    refused = skipline(*COMMAND, "--source", "made up")
    assert refused.code == 2
    assert "claim 'x-01', null 'large': axis 'ring': unknown" in refused.err


def test_what_tests_show_is_not_run_where_the_tests_are_not(
    skipline: Skipline, tmp_path: Path
) -> None:
    write_small_evidence(tmp_path)
    (tmp_path / "tests" / "conftest.py").unlink()
    done = skipline(*COMMAND, "--source", "another", "--format", "json")
    found = {claim["id"]: claim for claim in done.json["claims"]}
    assert (found["y-01"]["verdict"], found["y-01"]["basis"]) == ("not run here", None)
    counts = done.json["counts"]["all"]
    assert (counts["holds"], counts["test"], counts["not run here"]) == (0, 0, 1)
    told = "1 claim is shown by tests of the repository, which is not here"
    assert told in skipline(*COMMAND, "--source", "another").out
    assert told in (tmp_path / "reports" / "evidence-another.html").read_text()


def test_what_tests_show_holds_only_if_they_passed_on_what_is_here(
    skipline: Skipline, tmp_path: Path
) -> None:
    write_small_evidence(tmp_path)

    def judged_now() -> tuple[str, str | None, str]:
        found = skipline(*COMMAND, "--source", "another", "--format", "json").json["claims"][0]
        return found["verdict"], found["basis"], found["got"]

    assert judged_now() == ("not run here", None, "shown by 1 test of the repository")
    assert "`make claim-tests` runs them" in skipline(*COMMAND, "--source", "another").out
    record_that_tests(tmp_path, "passed")
    assert judged_now() == ("holds", "test", "shown by 1 test")
    record_that_tests(tmp_path, "failed")
    shown = "tests/test_shown.py::test_it_is_shown"
    assert judged_now() == ("fails", "test", f"1 of 1 test failed: {shown}")
    table = skipline(*COMMAND, "--source", "another")
    assert "FAILS" in table.out and "passes" in table.out
    record_that_tests(tmp_path, "passed")
    (tmp_path / "crates" / "shown.rs").write_text("fn changed() {}\n")
    assert judged_now()[0] == "not run here"
    (tmp_path / "reports" / "tests.json").write_text("of another format")
    assert judged_now()[0] == "not run here"


def test_a_failing_claim_is_shown_with_its_section(
    judged: Outcome, skipline: Skipline, tmp_path: Path
) -> None:
    assert judged.json["failing_without_paragraph"] == []
    page = (tmp_path / "reports" / "evidence.html").read_text()
    assert "<b>Tried.</b> it was made to fail." in page
    assert 'href="two-rings/report.html"' in page
    assert 'id="two-rings"' in page
    (tmp_path / failing_claims.FILE).unlink()
    table = skipline(*COMMAND)
    assert table.code == 0
    assert "FAILS" in table.out
    assert "hits at 512 are zero" in table.out
    assert f"{failing_claims.FILE} does not say why: x-02" in table.out
    assert str(tmp_path / "reports" / "evidence.html") in table.out


def test_a_source_is_judged_alone_and_written_where_it_is_asked(
    skipline: Skipline, tmp_path: Path
) -> None:
    write_small_evidence(tmp_path)
    done = skipline(*COMMAND, "--source", "another", "--out", "here", "--format", "csv")
    assert done.code == 0, done.err
    assert [row["id"] for row in csv.DictReader(io.StringIO(done.out))] == ["y-01", "y-02"]
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["evidence-another.html"]
    times = skipline(*COMMAND, "--verbose")
    assert "simulated now, s" in times.out


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("claims.csv", "x-02", "x-03", "claim 'x-02': not in evidence/claims.csv"),
        ("two-rings.toml", CLAIMS, "", "no [[claim]]"),
        ("two-rings.toml", 'id = "x-01"', 'id = "y-01"', "no test for 1 of 4 claims: x-01"),
        ("measured.csv", "hits", "hats", "no row with metric 'hits'"),
        ("measured.csv", "percent,98,", "percent,nan,", "column 'mean' = 'nan': Input should be a"),
        ("measured.csv", "512,hits,", "256,hits,", "2 rows with metric = hits, ring = 256; keep"),
        ("measured.csv", "90,1,88", "90,1", "line 5 has 8 columns, the header has 9"),
        ("measured.csv", "90,1,88", "90,1,88,9", "line 5 has 10 columns, the header has 9"),
        ("two-rings.toml", "measured.csv", "gone.csv", "evidence/gone.csv: no such file"),
        ("two-rings.toml", "rx_descriptors=256)", "ring=256)", "claim 'x-01', check 'hits at 256'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_simulated(
    skipline: Skipline, tmp_path: Path, file: str, old: str, new: str, told: str
) -> None:
    write_small_evidence(tmp_path)
    text = (tmp_path / "evidence" / file).read_text()
    assert old in text
    (tmp_path / "evidence" / file).write_text(text.replace(old, new))
    done = skipline(*COMMAND)
    assert done.code == 2
    assert done.err.startswith("error: ")
    assert told in done.err
    assert "Traceback" not in done.err
    assert not list(tmp_path.rglob("points.duckdb"))


@pytest.mark.parametrize("folder", ["evidence", "evidence/below"])
def test_an_experiment_run_alone_judges_the_same_claims(
    skipline: Skipline, tmp_path: Path, folder: str
) -> None:
    write_small_evidence(tmp_path)
    (tmp_path / "evidence" / "two-rings.toml").unlink()
    (tmp_path / folder).mkdir(exist_ok=True)
    write_small_experiment(tmp_path / folder, claims=CLAIMS.replace("x-02", "x-2"))
    path = f"{folder}/two-rings.toml"
    told = f"error: {path}: claim 'x-2': not in evidence/claims.csv (did you mean 'x-02'?)"
    for command in (COMMAND, ("experiment", "run", path)):
        done = skipline(*command)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(told), done.err
        assert "Traceback" not in done.err
    assert not list(tmp_path.rglob("points.duckdb"))


def test_an_experiment_without_a_table_may_claim_anything(
    skipline: Skipline, tmp_path: Path
) -> None:
    name = write_small_experiment(tmp_path, claims=CLAIMS)
    done = skipline("experiment", "run", name, "--format", "json")
    assert [claim["id"] for claim in done.json["claims"]] == ["x-01", "x-02"]


def test_an_experiment_shows_the_verdicts_of_its_claims(skipline: Skipline, tmp_path: Path) -> None:
    write_small_evidence(tmp_path)
    name = "evidence/two-rings.toml"
    shown = skipline("experiment", "show", name)
    assert "hits at 512 are zero: 0 percent ± 0.5" in shown.out
    done = skipline("experiment", "run", name, "--format", "json")
    claims = {claim["id"]: claim["checks"] for claim in done.json["claims"]}
    assert [check["holds"] for check in claims["x-02"]] == [False, True]
    assert "FAILS" in skipline("experiment", "run", name).out
    page = (tmp_path / "reports" / "two-rings" / "report.html").read_text()
    assert "Claims of the source" in page


def test_an_interrupted_run_goes_on_where_it_stopped(skipline: Skipline, tmp_path: Path) -> None:
    write_small_evidence(tmp_path, endless_ring=512)
    with on_a_terminal(skipline, *COMMAND, "--jobs", "2") as (process, terminal):
        read_until(terminal, "run 1 of 2")
        process.send_signal(signal.SIGINT)
        told = read_rest(terminal)
        assert process.wait() == 130
    assert "interrupted; finished points are kept in reports" in told
    with Store(tmp_path / "reports" / "two-rings" / "points.duckdb") as store:
        assert store.points()["status"].to_list() == ["done", None]
    write_small_evidence(tmp_path)
    done = skipline(*COMMAND, "--format", "json")
    assert json.loads(done.out)["experiments"][0]["reused"] == 1
