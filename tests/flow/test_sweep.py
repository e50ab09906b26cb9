"""Sweeps: what is finished is kept, once, whatever happens; bad input is refused at once."""

import os
import random
import re
import shutil
import signal
import subprocess
from pathlib import Path

import duckdb
import polars as pl
import pytest

import skipline
from command_line import ENDLESS_BATCH, L2FWD, REPOSITORY, Skipline
from on_terminal import on_a_terminal, read_rest, read_until
from skipline import InputError
from skipline import Store as ReadStore
from skipline.store import schema

INTERRUPTED = 130
_FINISHED = re.compile(r"(\d+) of \d+ points")
BRIEF = ["--set", "run.batch_packets=256", "--set", "run.max_batches=10"]
AXES = ["--axis", "rx_descriptors=256..512:log:2", "--axis", "ddio_ways=2,4"]
SWEEP = ["sweep", L2FWD, *BRIEF, *AXES]


def table(path: Path, sweep: int | None = None) -> pl.DataFrame:
    """All numbers of a sweep."""
    with ReadStore(path) as store:
        return store.numbers(sweep=sweep)


def test_what_is_there_is_not_run_again(skipline: Skipline, tmp_path: Path) -> None:
    first = skipline(*SWEEP, "--limit", "3")
    assert first.code == 0, first.err
    assert "4 points: 3 simulated, 0 reused, 1 still missing" in first.out
    assert "4 points: 1 simulated, 3 reused;" in skipline(*SWEEP, "--jobs", "1").out
    # Other words for the same questions.
    wider = ("sweep", L2FWD, *BRIEF, "--axis", "ddio_ways=2,4,6", "--set", "rx_descriptors=256")
    assert "3 points: 1 simulated, 2 reused;" in skipline(*wider).out
    with ReadStore(tmp_path / "results.duckdb") as store:
        assert store.sweeps()["done"].to_list() == [4, 3]
        found = store.frame(["throughput_gbps", "latency_ns.p99"], sweep=1)
    assert found.columns == [
        *("rx_descriptors", "ddio_ways", "seed"),
        *("throughput_gbps", "latency_ns.p99"),
    ]
    assert found["rx_descriptors"].to_list() == [256, 256, 512, 512]
    assert found["throughput_gbps"].null_count() == 0


def test_a_point_has_the_numbers_of_a_single_run(tmp_path: Path) -> None:
    settings = {"run": {"batch_packets": 256, "max_batches": 10}}
    store = tmp_path / "s.duckdb"
    found = skipline.sweep(
        L2FWD, {"ddio_ways": [2, 4]}, settings, repeats=2, metrics=["throughput_gbps"], store=store
    )
    assert found.select("ddio_ways", "seed").rows() == [(2, 1), (2, 2), (4, 1), (4, 2)]
    alone = skipline.run(L2FWD, settings, ddio_ways=4, seed=2)
    assert found["throughput_gbps"][3] == alone.scalar("throughput_gbps")
    numbers = table(store).filter(ddio_ways=4, seed=2)
    frame = alone.to_frame()
    names = ["metric", "component", "value", "ci95", "unit"]
    assert numbers.select(names).sort(names).equals(frame.select(names).sort(names))


def test_without_a_store_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    brief = {"run.batch_packets": 256, "run.max_batches": 10}
    told: list[float] = []
    found = skipline.sweep(
        L2FWD, {"cores": "1..2:lin:2"}, brief, progress=lambda share, _: told.append(share)
    )
    assert len(found) == 2 and "throughput_gbps" in found.columns
    assert max(told) == 1.0
    assert list(tmp_path.iterdir()) == []


def test_points_that_cannot_be_are_rows_with_their_error(skipline: Skipline) -> None:
    done = skipline(
        *("sweep", L2FWD, *BRIEF, "--axis", "rx_descriptors=256,8192"),
        *("--axis", "pool_buffers=4095,131071"),
    )
    assert done.code == 1
    assert "1 points failed; first: " in done.err and "pool_buffers" in done.err
    shown = skipline("store", "show", "results.duckdb", "--failed", "--format", "csv")
    assert len(shown.out.splitlines()) == 2 and "failed: " in shown.out
    # They are not tried again unless that is asked for.
    again = skipline(
        *("sweep", L2FWD, *BRIEF, "--axis", "rx_descriptors=256,8192"),
        *("--axis", "pool_buffers=4095,131071"),
    )
    assert again.code == 0 and "4 reused" in again.out


def test_a_value_with_which_no_point_can_be_is_refused(skipline: Skipline, tmp_path: Path) -> None:
    done = skipline("sweep", L2FWD, *BRIEF, "--axis", "rx_descriptors=256,abc")
    assert done.code == 2
    assert "rx_descriptors=abc" in done.err
    with ReadStore(tmp_path / "results.duckdb") as store:
        assert len(store.sweeps()) == 0


def test_a_store_of_something_else_is_refused(skipline: Skipline, tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("not a store, but more than twelve letters\n")
    assert "not a DuckDB file" in skipline(*SWEEP, "--store", "text.duckdb").err
    with duckdb.connect(str(tmp_path / "other.duckdb")) as other:
        other.execute("CREATE TABLE mine (x INTEGER)")
    assert "tables of something else" in skipline(*SWEEP, "--store", "other.duckdb").err
    assert "this is a directory" in skipline(*SWEEP, "--store", ".").err
    assert skipline("store", "list", "other.duckdb").code == 2


def test_a_store_of_another_version_is_refused_and_stays(
    skipline: Skipline, tmp_path: Path
) -> None:
    assert skipline(*SWEEP, "--limit", "1").code == 0
    path = tmp_path / "results.duckdb"
    with duckdb.connect(str(path)) as store:
        store.execute("UPDATE meta SET format = 99, written_by = '9.9.9'")
    before = path.read_bytes()
    for arguments in (SWEEP, ["store", "list", "results.duckdb"]):
        done = skipline(*arguments)
        assert done.code == 2
        assert "a store of format 99, written by Skipline 9.9.9" in done.err
    assert path.read_bytes() == before


def test_a_store_of_the_former_format_is_read_and_goes_on(
    skipline: Skipline, tmp_path: Path
) -> None:
    assert skipline(*SWEEP, "--limit", "3").code == 0
    path = tmp_path / "results.duckdb"
    before = table(path)
    with duckdb.connect(str(path)) as store:
        store.execute("ALTER TABLE points DROP provenance; ALTER TABLE points DROP digest")
        store.execute("UPDATE meta SET format = 1")
        store.execute(schema.VIEWS)
    assert table(path).equals(before)
    merged = skipline("store", "merge", "all.duckdb", "results.duckdb")
    assert "3 points added" in merged.out, merged.err
    assert table(tmp_path / "all.duckdb").equals(before)
    assert "4 points: 1 simulated, 3 reused;" in skipline(*SWEEP).out
    assert table(path).head(len(before)).equals(before)
    with ReadStore(path) as opened:
        assert opened.sql("SELECT format FROM meta").rows() == [(schema.FORMAT,)]
        kept = opened.sql("SELECT provenance IS NULL AS former, count(*) FROM points GROUP BY 1")
        assert sorted(kept.rows()) == [(False, 1), (True, 3)]


def test_a_read_only_store_is_refused_and_can_be_read(skipline: Skipline, tmp_path: Path) -> None:
    assert skipline(*SWEEP, "--limit", "1").code == 0
    path = tmp_path / "results.duckdb"
    path.chmod(0o444)
    done = skipline(*SWEEP)
    assert done.code == 2 and "this store is read-only" in done.err
    assert skipline("store", "list", "results.duckdb").code == 0


def test_a_store_that_another_process_writes_is_refused(skipline: Skipline, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "results.duckdb")):
        done = subprocess.run(
            skipline.arguments(*SWEEP), cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert f"process {os.getpid()} is writing this store" in done.stderr


def test_a_cluster_that_is_not_there_is_told_at_once(skipline: Skipline, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    done = skipline(*SWEEP, "--engine", "ray://127.0.0.1:9")
    assert done.code == 2 and "no cluster answers there" in done.err
    assert "HOST:PORT" in skipline(*SWEEP, "--engine", "ray://head").err
    assert list(tmp_path.iterdir()) == []


def test_a_changed_file_is_another_question(skipline: Skipline, tmp_path: Path) -> None:
    scenario = tmp_path / "own.toml"
    shutil.copy(REPOSITORY / L2FWD, scenario)
    own = ["sweep", "own.toml", *BRIEF, "--axis", "ddio_ways=2,4"]
    assert "2 simulated" in skipline(*own).out
    assert "2 reused" in skipline(*own).out
    scenario.write_text(scenario.read_text().replace("cores = 1", "cores = 2"))
    assert "2 simulated, 0 reused" in skipline(*own).out


def test_results_of_another_simulator_are_stale(skipline: Skipline, tmp_path: Path) -> None:
    assert skipline(*SWEEP).code == 0
    path = tmp_path / "results.duckdb"
    with duckdb.connect(str(path)) as store:
        store.execute("UPDATE points SET simulator = 'an older one'")
    with ReadStore(path) as reading:
        assert reading.sweeps().select("done", "stale").rows() == [(0, 4)]
        assert reading.frame(["throughput_gbps"])["throughput_gbps"].null_count() == 4
    assert "4 simulated" in skipline(*SWEEP).out
    assert "4 points forgotten" in skipline("store", "forget", "results.duckdb", "--stale").out
    assert len(table(path)) > 0


def test_ctrl_c_keeps_what_is_finished(skipline: Skipline, tmp_path: Path) -> None:
    # The second point runs without end.
    (tmp_path / "points.csv").write_text(
        f"run.max_batches,run.batch_packets\n10,256\n10,{ENDLESS_BATCH}\n"
    )
    arguments = ("sweep", L2FWD, "--axis-file", "points.csv", "--jobs", "2")
    with on_a_terminal(skipline, *arguments) as (process, terminal):
        read_until(terminal, "1 of 2 points")
        process.send_signal(signal.SIGINT)
        told = read_rest(terminal)
        assert process.wait() == INTERRUPTED
    assert "1 simulated, 0 reused, 1 still missing" in told
    assert "the same command goes on from there" in told
    assert "Traceback" not in told
    with ReadStore(tmp_path / "results.duckdb") as store:
        assert store.points()["status"].to_list() == ["done", None]


def test_the_first_failure_ends_a_sweep_that_asks_for_that(skipline: Skipline) -> None:
    done = skipline(
        *("sweep", L2FWD, *BRIEF, "--axis", "rx_descriptors=8192,256", "--first-failure"),
        *("--axis", "pool_buffers=4095,131071"),
    )
    assert done.code == 1
    assert "3 still missing" in done.out


def test_killed_workers_and_writers_lose_and_double_nothing(
    skipline: Skipline, tmp_path: Path
) -> None:
    kill_at_random(skipline, tmp_path, kills=4, points=16, engine="local")


@pytest.mark.soak
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_many_kills_lose_and_double_nothing(
    skipline: Skipline, tmp_path: Path, engine: str
) -> None:
    kills = 10
    if engine == "ray":
        pytest.importorskip("ray")
        if "SKIPLINE_RAY_KILLS" not in os.environ:
            pytest.skip("each kill is a start of Ray: SKIPLINE_RAY_KILLS=50 runs it, in 20 minutes")
        kills = int(os.environ["SKIPLINE_RAY_KILLS"])
    kill_at_random(skipline, tmp_path, kills=kills, points=40, engine=engine)


def kill_at_random(
    skipline: Skipline, tmp_path: Path, *, kills: int, points: int, engine: str
) -> None:
    """Kill the writer, or a process below it, whenever some more points are told as finished."""
    generator = random.Random(kills)
    arguments = ["sweep", L2FWD, *BRIEF, "--axis", f"traffic.flows=1..{points}:step:1"]
    arguments += ["--engine", engine]
    store = tmp_path / "results.duckdb"
    there = 0
    for _ in range(kills):
        if there == points:
            # A writer that was killed leaves its log, and a log without its store is damage.
            for file in (store, Path(f"{store}.wal")):
                file.unlink(missing_ok=True)
            there = 0
        with on_a_terminal(skipline, *arguments) as (process, terminal):
            told = told_as_finished(terminal, generator.randrange(1, 3))
            if generator.random() < 0.6 and (victims := below(process.pid)):
                os.kill(generator.choice(victims), signal.SIGKILL)
                told = max(told, told_as_finished(terminal, told + 1))
            process.kill()
        before, there = there, done_of(store, points)
        assert there >= before + told
    assert skipline(*arguments).code == 0
    assert skipline(*arguments, "--store", "undisturbed.duckdb").code == 0
    assert table(store).equals(table(tmp_path / "undisturbed.duckdb"))
    assert done_of(store, points) == points


def told_as_finished(terminal: int, wanted: int) -> int:
    """Read what a sweep shows until it has finished so many points, or it has ended."""
    seen, found = "", 0
    while found < wanted:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            chunk = b""
        if not chunk:
            return found
        seen = (seen + chunk.decode(errors="replace"))[-1000:]
        found = max([found, *(int(number) for number in _FINISHED.findall(seen))])
    return found


def below(process: int) -> list[int]:
    """All processes that a process has started, directly or not."""
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, listed) for one in (child, *below(child))]


def done_of(path: Path, points: int) -> int:
    """How many points of the only sweep are done; none is stated twice."""
    with ReadStore(path) as store:
        assert store.sql("SELECT count(*) AS n FROM points")["n"][0] <= points
        numbers = store.sql("SELECT count(*) AS n FROM (SELECT DISTINCT point FROM numbers)")
        done = int(store.sweeps()["done"][0])
        assert numbers["n"][0] == done
        return done


def test_python_says_what_is_wrong_with_a_sweep() -> None:
    with pytest.raises(InputError, match="did you mean"):
        skipline.sweep(L2FWD, {"core": [1, 2]})
    with pytest.raises(InputError, match="metric 'throughput'"):
        skipline.sweep(
            L2FWD,
            {"cores": [1]},
            {"run.max_batches": 10, "run.batch_packets": 256},
            metrics=["throughput"],
        )
