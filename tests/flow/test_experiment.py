"""An experiment is run once, kept, and the same every time."""

import csv
import io
import json
import os
import re
import resource
import statistics
import subprocess
from pathlib import Path

import duckdb
import polars as pl
import pytest

import skipline as api
from command_line import REPOSITORY, SHORT_BATCH, Skipline
from skipline import InputError, resources
from skipline.experiment import catalogue, runner
from skipline.experiment.points import points
from skipline.experiment.runner import Batch
from skipline.runs import identity
from skipline.sweeps import simulate
from skipline.text import terminal
from small_experiment import write_small_experiment

FILES = ["outcome.json", "points.duckdb", "report.html", "results.csv", "results.parquet"]
POINTS = Path("out") / "points.duckdb"


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    return write_small_experiment(tmp_path)


def test_the_directory_has_table_outcome_and_report(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    done = skipline("experiment", "run", experiment)
    assert done.code == 0, done.err
    written = tmp_path / "reports" / "two-rings"
    assert sorted(path.name for path in written.iterdir()) == FILES
    assert str(written / "report.html") in done.out


def test_the_table_has_predicted_beside_measured(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    skipline("experiment", "run", experiment, "--out", "out")
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    rows = table.filter(pl.col("metric") == "pcie_write_hit_rate").to_dicts()
    assert [row["rx_descriptors"] for row in rows] == [256, 512]
    assert [row["measured"] for row in rows] == [98.0, 90.0]
    assert [row["basis"] for row in rows] == ["predicted", "fitted"]
    for row in rows:
        assert row["error"] == pytest.approx(row["predicted"] - row["measured"])
    assert table.filter(pl.col("metric") == "throughput_gbps")["measured"].null_count() == 2


def test_json_is_one_object_and_csv_one_row_per_number(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    done = skipline("experiment", "run", experiment, "--out", "out", "--format", "json")
    assert done.json["points"] == 2
    assert done.json["verdicts"][0]["holds"] is True
    again = skipline("experiment", "run", experiment, "--out", "out", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(again.out)))
    assert len(rows) == len(done.json["results"])
    assert again.out == (tmp_path / "out" / "results.csv").read_text()


def test_finished_points_are_reused(skipline: Skipline, experiment: str) -> None:
    assert "2 points simulated, 0 reused" in skipline("experiment", "run", experiment).out
    assert "0 points simulated, 2 reused" in skipline("experiment", "run", experiment).out


def test_only_points_whose_input_changed_are_simulated_again(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    skipline("experiment", "run", experiment)
    write_small_experiment(tmp_path, offered=97.0)
    assert "1 points simulated, 1 reused" in skipline("experiment", "run", experiment).out
    other_seed = skipline("experiment", "run", experiment, "--seed", "99")
    assert "2 points simulated, 0 reused" in other_seed.out


@pytest.mark.parametrize("changed", ["platform.toml", "table.toml", "nic.toml"])
def test_a_file_beside_the_scenario_that_changes_makes_its_points_new(
    skipline: Skipline, tmp_path: Path, changed: str
) -> None:
    (tmp_path / "below").mkdir()
    write_small_experiment(tmp_path / "below", claims=_FACT_CLAIM)
    _name_own_parts(tmp_path / "below" / "scenario")
    command = ("experiment", "run", "below/two-rings.toml", "--out", "out")
    first = skipline(*command)
    assert "2 points simulated, 0 reused" in first.out, first.err
    (claim,) = json.loads((tmp_path / "out" / "outcome.json").read_text())["claims"]
    assert [check["holds"] for check in claim["checks"]] == [True]
    assert "0 points simulated, 2 reused" in skipline(*command).out
    path = tmp_path / "below" / "scenario" / changed
    path.write_text(path.read_text().replace("made up", "made up anew"))
    assert "2 points simulated, 0 reused" in skipline(*command).out


_FACT_CLAIM = """
[[claim]]
id = "x-01"
[[claim.check]]
text = "a fact of the platform beside the scenario"
value = 'fact("llc.slices") == 18'
"""


_CASE_AND_YARDSTICK = """
[[axis]]
key = "configuration"
label = "configuration"
role = "panel"
[[axis.case]]
name = "below"
scenario = "below/s.toml"
[trivial]
check = "hits"
way_bytes = ["llc.slices", 64]
backlog_buffers = [0]
"""


def test_the_platform_of_a_case_is_looked_for_beside_its_own_scenario(
    skipline: Skipline, tmp_path: Path
) -> None:
    experiment = write_small_experiment(tmp_path, claims=_CASE_AND_YARDSTICK)
    (tmp_path / "below").mkdir()
    text = (tmp_path / "scenario" / "l2fwd.toml").read_text()
    (tmp_path / "below" / "s.toml").write_text(text.replace("skylake-gold-6140", "p.toml"))
    platform = resources.read_text("platforms/skylake-gold-6140.toml")
    (tmp_path / "below" / "p.toml").write_text(platform)
    done = skipline("experiment", "run", experiment, "--out", "out")
    assert done.code == 0, done.err
    summary = json.loads((tmp_path / "out" / "outcome.json").read_text())
    assert (summary["way_bytes"], len(summary["trivial"])) == (18 * 64, 2)


def _name_own_parts(folder: Path) -> None:
    """Make the scenario of a folder name a platform with a slice table and a NIC beside it."""
    scenario = folder / "l2fwd.toml"
    own = 'platform = "platform.toml"\nnic = "nic.toml"'
    scenario.write_text(scenario.read_text().replace('platform = "skylake-gold-6140"', own))
    platform = resources.read_text("platforms/skylake-gold-6140.toml")
    facts = 'source = "made up", confidence = "derived"'
    function = f'slice_function = {{ value = "table", {facts} }}'
    table = f'slice_table = {{ value = "table.toml", {facts} }}'
    assert "\n[llc]\n" in platform
    platform = platform.replace("\n[llc]\n", f"\n[llc]\n{function}\n{table}\n")
    (folder / "platform.toml").write_text(platform)
    base = [line % 18 for line in range(32)]
    (folder / "table.toml").write_text(
        'part = "none"\nsource = "made up"\nslices = 18\nvalid_bits = [6, 20]\n'
        f"perm_masks = {[0] * 5}\nbase = {base}\n"
    )
    nic = resources.read_text("devices/nic/connectx-5.toml")
    (folder / "nic.toml").write_text(f"# made up\n{nic}")


def test_points_of_a_file_that_changes_meanwhile_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = points(catalogue.load(write_small_experiment(tmp_path)))
    batch = Batch("two rings", found, range(1, 2), "points.duckdb")
    inputs = identity.inputs

    def read_and_edited(*arguments: object) -> identity.Inputs:
        before = inputs(*arguments)  # type: ignore[arg-type]
        with Path(found[0].scenario).open("a") as scenario:
            scenario.write("# another\n")
        return before

    with monkeypatch.context() as meanwhile, terminal.progress_bar("") as bar:
        meanwhile.setattr(identity, "inputs", read_and_edited)
        with pytest.raises(InputError, match="has changed since the command began"):
            runner.run([batch], 2, bar)
    with terminal.progress_bar("") as bar:
        (ran,) = runner.run([batch], 2, bar)
        (again,) = runner.run([batch], 2, bar)
    assert (ran.reused, again.reused) == (0, 2)


@pytest.mark.soak
def test_the_complete_example_of_the_documentation_runs(skipline: Skipline, tmp_path: Path) -> None:
    text = (REPOSITORY / "docs" / "how-to" / "experiments.md").read_text()
    found = re.search(r"^A complete example.*?```toml\n(.*?)^```", text, flags=re.M | re.S)
    assert found
    for name in ("two-nics-scenario.toml", "one-nic-scenario.toml"):
        (tmp_path / name).write_text(resources.read_text(f"experiments/atc20/{name}"))
    example = tmp_path / "example.toml"
    example.write_text(found[1])
    assert skipline("experiment", "show", "example.toml").code == 0
    fixed = f'[fixed]\n"run.max_batches" = 10\n"run.batch_packets" = {SHORT_BATCH} #'
    example.write_text(re.sub(r"\[fixed\].*?=", fixed, found[1], flags=re.S))
    done = skipline("experiment", "run", "example.toml", "--format", "json")
    assert done.code == 0, done.err
    (claim,) = done.json["claims"]
    assert all(re.match(r"true|false|\d", check["got"]) for check in claim["checks"])
    assert len(claim["checks"]) == 3


def change_points(tmp_path: Path, *statements: str) -> None:
    with duckdb.connect(str(tmp_path / POINTS)) as store:
        for statement in statements:
            assert store.execute(statement).fetchone() != (0,), statement


@pytest.mark.parametrize(
    ("damage", "simulated"),
    [
        ("UPDATE numbers SET value = 1.5 * value WHERE point = 1 AND value > 0", 1),
        ("DELETE FROM numbers WHERE point = 1", 1),
        ("UPDATE points SET provenance = '{}' WHERE point = 1", 1),
        ("UPDATE points SET digest = NULL WHERE point = 1", 1),
        ("UPDATE points SET status = 'failed' WHERE point = 1", 1),
        ("UPDATE points SET simulator = 'an older one'", 2),
    ],
)
def test_a_point_that_was_changed_or_is_stale_is_simulated_again(
    skipline: Skipline, tmp_path: Path, experiment: str, damage: str, simulated: int
) -> None:
    run = ("experiment", "run", experiment, "--out", "out")
    skipline(*run)
    table = (tmp_path / "out" / "results.csv").read_bytes()
    change_points(tmp_path, damage)
    done = skipline(*run)
    assert f"{simulated} points simulated, {2 - simulated} reused" in done.out, done.err
    assert (tmp_path / "out" / "results.csv").read_bytes() == table
    assert "0 points simulated, 2 reused" in skipline(*run).out


def test_a_damaged_store_is_refused_and_stays(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    run = ("experiment", "run", experiment, "--out", "out")
    (tmp_path / "out").mkdir()
    (tmp_path / POINTS).write_text("of something else, and long enough")
    for _ in range(2):
        done = skipline(*run)
        assert (done.code, done.out) == (2, "")
        assert "out/points.duckdb: not a store" in done.err
    skipline("experiment", "run", experiment, "--out", "whole")
    half = (tmp_path / "whole" / "points.duckdb").read_bytes()
    (tmp_path / POINTS).write_bytes(half[: len(half) // 2])
    done = skipline(*run)
    assert done.code == 2 and done.err.startswith("error: out/points.duckdb: "), done.err
    assert "Traceback" not in done.err


def test_a_full_disk_loses_no_point_that_was_finished(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    run = ("experiment", "run", experiment, "--out", "out")
    skipline(*run)
    table = (tmp_path / "out" / "results.csv").read_bytes()

    def no_room_for_points() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    full = subprocess.run(
        skipline.arguments(*run, "--seed", "50"),
        cwd=skipline.directory,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=no_room_for_points,
    )
    assert (full.returncode, full.stdout) == (1, "")
    assert "error: out/points.duckdb: cannot be written" in full.stderr
    assert "what was there before stays" in full.stderr
    assert (tmp_path / "out" / "results.csv").read_bytes() == table
    assert "0 points simulated, 2 reused" in skipline(*run).out


def test_points_of_versions_without_a_store_are_told_to_be_stale_once(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    former = tmp_path / "out" / "points"
    former.mkdir(parents=True)
    kept = '{"key": "k", "digest": "d", "result": {}}'
    (former / "rx_descriptors=256,seed=1.json").write_text(kept)
    run = ("experiment", "run", experiment, "--out", "out")
    done = skipline(*run)
    assert "2 points simulated, 0 reused" in done.out
    assert "out/points: points kept by an earlier version, which are stale" in done.err
    assert "remove what is there" in done.err
    assert len(list(former.iterdir())) == 1
    again = skipline(*run)
    assert "0 points simulated, 2 reused" in again.out
    assert again.err == ""


def test_points_are_a_sweep_of_the_store(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    skipline("experiment", "run", experiment, "--out", "out")
    with api.Store(tmp_path / POINTS) as store:
        (sweep,) = store.sweeps().to_dicts()
        frame = store.frame(["pcie_write_hit_rate"])
    assert (sweep["title"], sweep["points"], sweep["done"]) == ("two-rings", 2, 2)
    assert frame.columns == ["rx_descriptors", "seed", "pcie_write_hit_rate"]
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    hits = table.filter(pl.col("metric") == "pcie_write_hit_rate")["predicted"]
    assert frame["pcie_write_hit_rate"].to_list() == hits.to_list()


def test_experiments_and_sweeps_answer_each_other(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    settings = {
        "packet_bytes": 1024,
        "ddio_ways": 2,
        "run.max_batches": 10,
        "run.batch_packets": SHORT_BATCH,
    }
    asked = [word for pair in settings.items() for word in ("--set", f"{pair[0]}={pair[1]}")]
    (tmp_path / "points.csv").write_text("rx_descriptors,offered_gbps\n256,98.0\n512,99.0\n")
    sweep = ("sweep", "scenario/l2fwd.toml", *asked, "--axis-file", "points.csv")
    run = ("experiment", "run", experiment, "--out", "out")
    (tmp_path / "out").mkdir()
    assert "2 simulated" in skipline(*sweep, "--store", str(POINTS)).out
    assert "0 points simulated, 2 reused" in skipline(*run).out
    (tmp_path / POINTS).unlink()
    assert "2 points simulated, 0 reused" in skipline(*run).out
    assert "0 simulated, 2 reused" in skipline(*sweep, "--store", str(POINTS)).out


def test_points_that_two_experiments_share_are_simulated_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = points(catalogue.load(write_small_experiment(tmp_path)))
    batches = [
        Batch("both", found, range(1, 2), "both.duckdb"),
        Batch("one", found[:1], range(1, 3), "one.duckdb"),
    ]
    simulated: list[int] = []
    point = simulate.point

    def counted(request: simulate.Request, *others: object, **options: object) -> object:
        simulated.append(request.seed)
        return point(request, *others, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(simulate, "point", counted)
    with terminal.progress_bar("") as bar:
        both, one = runner.run(batches, 2, bar)
    assert sorted(simulated) == [1, 1, 2]
    assert both.finished[0].results[0] == one.finished[0].results[0]


def test_several_experiments_are_summed_up_together(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    other = "two-more-rings.toml"
    (tmp_path / other).write_text((tmp_path / experiment).read_text())
    names = (experiment, other, experiment)
    done = skipline("experiment", "run", *names, "--out", "out", "--format", "json")
    one, two = done.json["experiments"]
    assert (one["identifier"], two["identifier"]) == ("two-rings", "two-more-rings")
    joint = done.json["together"]
    assert joint["points"] == 4
    (verdict,) = joint["verdicts"]
    assert verdict["value"] == pytest.approx(one["verdicts"][0]["value"])
    assert [group["basis"] for group in verdict["groups"]] == ["fitted", "predicted"]
    assert [group["numbers"] for group in verdict["groups"]] == [2, 2]
    assert (tmp_path / "out" / "two-more-rings" / "report.html").exists()
    table = skipline("experiment", "run", *names, "--out", "out").out
    assert "Error over the 4 configurations" in table


def test_each_repeat_has_its_seed_and_the_mean_is_compared(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    text = (tmp_path / experiment).read_text()
    (tmp_path / experiment).write_text(text.replace("\nscenario", "\nrepeats = 20\nscenario", 1))
    done = skipline("experiment", "run", experiment, "--out", "out", "--seed", "7")
    assert done.code == 0, done.err
    assert "seeds 7 to 26" in done.out
    with api.Store(tmp_path / POINTS) as store:
        kept = store.frame(["pcie_write_hit_rate"]).filter(rx_descriptors=512).sort("seed")
    assert kept["seed"].to_list() == list(range(7, 27))
    hits = kept["pcie_write_hit_rate"].to_list()
    table = pl.read_parquet(tmp_path / "out" / "results.parquet")
    row = table.filter(pl.col("rx_descriptors") == 512, pl.col("metric") == "pcie_write_hit_rate")
    (numbers,) = row.to_dicts()
    assert numbers["predicted"] == pytest.approx(sum(hits) / 20)
    assert (numbers["predicted_min"], numbers["predicted_max"]) == (min(hits), max(hits))
    assert numbers["predicted_median"] == pytest.approx(statistics.median(hits))
    assert numbers["predicted_runs"] == 20
    too_high = skipline("experiment", "run", experiment, "--seed", str(2**64 - 1))
    assert too_high.code == 2
    assert "--seed 18446744073709551615: allowed: 0 to" in too_high.err


def test_seeds_are_added_while_a_claim_is_undecided_and_no_longer(
    skipline: Skipline, tmp_path: Path
) -> None:
    claim = """
[[claim]]
id = "x-01"
[[claim.check]]
text = "hits at 512"
value = 'at("pcie_write_hit_rate", rx_descriptors=512)'
at_least = {bound}
"""

    def run(bound: float, command: str = "") -> str:
        name = write_small_experiment(tmp_path, claims=claim.format(bound=bound))
        text = (tmp_path / name).read_text()
        seeds = "\nrepeats = 5\nmost_repeats = 12\nscenario"
        (tmp_path / name).write_text(text.replace("\nscenario", seeds, 1))
        done = skipline("experiment", "run", name, "--out", "out", *command.split())
        assert done.code == 0, done.err
        return done.out

    far = run(1.0)
    assert "seeds 1 to 5" in far
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet").filter(
        pl.col("rx_descriptors") == 512, pl.col("metric") == "pcie_write_hit_rate"
    )
    (mean,) = rows["predicted"]
    # The mean of any number of the seeds lies close to it: they decide, however many they are.
    undecided = run(mean)
    assert "seeds 1 to 12" in undecided and "undecided" in undecided, undecided
    assert "2 points simulated, 0 reused" in undecided
    assert "0 points simulated, 2 reused" in run(mean)
    # A bound that five seeds decide takes no more, although more are kept.
    again = run(1.0)
    assert "seeds 1 to 5" in again and "0 points simulated, 2 reused" in again


def test_fewer_seeds_at_most_than_at_first_are_refused(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    text = (tmp_path / experiment).read_text()
    seeds = "\nrepeats = 5\nmost_repeats = 4\nscenario"
    (tmp_path / experiment).write_text(text.replace("\nscenario", seeds, 1))
    done = skipline("experiment", "run", experiment)
    assert done.code == 2
    assert "most_repeats: at least the repeats, 5" in done.err


def test_the_number_of_threads_does_not_change_a_number(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    for jobs in ("1", "2"):
        skipline("experiment", "run", experiment, "--jobs", jobs, "--out", jobs)
    one, two = (tmp_path / jobs / "results.csv" for jobs in ("1", "2"))
    assert one.read_bytes() == two.read_bytes()


def test_a_point_that_cannot_run_ends_the_experiment(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    text = (tmp_path / experiment).read_text()
    (tmp_path / experiment).write_text(text.replace("ddio_ways = 2", "ddio_ways = 99"))
    done = skipline("experiment", "run", experiment, "--out", "out")
    assert done.code == 2
    assert "ddio_ways" in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out" / "outcome.json").exists()


def test_a_metric_without_a_number_is_empty_in_the_table_and_refused_where_it_is_to_be_shown(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    # The forwarder's costs are known in cycles only.
    done = skipline("experiment", "run", experiment, "--out", "out")
    assert done.code == 0, done.err
    results = pl.read_parquet(tmp_path / "out" / "results.parquet")
    ipc = results.filter(pl.col("metric") == "ipc")
    assert (ipc.height, ipc["predicted"].null_count()) == (2, 2)
    with (tmp_path / experiment).open("a") as file:
        file.write('\n[[metric]]\nname = "ipc"\nlabel = "IPC"\n')
    done = skipline("experiment", "run", experiment, "--out", "out")
    assert done.code == 2
    assert f"{experiment}: metric 'ipc': has no value at any point; leave it out" in done.err


def test_a_report_can_be_made_again_from_the_directory(
    skipline: Skipline, tmp_path: Path, experiment: str
) -> None:
    skipline("experiment", "run", experiment, "--out", "out")
    first = (tmp_path / "out" / "report.html").read_bytes()
    (tmp_path / "out" / "report.html").unlink()
    done = skipline("report", "out")
    assert done.out == f"{tmp_path / 'out' / 'report.html'}\n"
    assert (tmp_path / "out" / "report.html").read_bytes() == first
    assert skipline("report", "out/results.parquet", "--out", "other.html").code == 0
    assert (tmp_path / "other.html").read_bytes() == first
