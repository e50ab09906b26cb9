"""Stores: what sweeps have kept is listed, shown, asked, exported, merged and forgotten."""

import io
from pathlib import Path

import polars as pl
import pytest

import skipline as api
from command_line import L2FWD, Skipline

SWEEP = ["sweep", L2FWD, "--set", "run.batch_packets=256", "--set", "run.max_batches=10"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stores that share one point: rings of 256 and 512, and of 512 and 1024."""
    path = tmp_path_factory.mktemp("stores")
    command = Skipline(path)
    for name, rings in (("a", "256,512"), ("b", "512,1024")):
        done = command(*SWEEP, "--axis", f"rx_descriptors={rings}", "--store", f"{name}.duckdb")
        assert done.code == 0, done.err
    return path


@pytest.fixture
def stores(folder: Path, tmp_path: Path) -> Skipline:
    """The command line beside copies of both."""
    for name in ("a.duckdb", "b.duckdb"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return Skipline(tmp_path)


def rows(text: str) -> list[dict[str, object]]:
    return pl.read_csv(io.StringIO(text)).to_dicts()


def test_sweeps_are_listed_with_what_is_there(stores: Skipline) -> None:
    (one,) = stores("store", "list", "a.duckdb", "--format", "json").json["rows"]
    assert (one["points"], one["done"], one["missing"]) == (2, 2, 0)
    assert "rx_descriptors" in stores("store", "list", "a.duckdb").out


def test_points_are_shown_with_axes_numbers_units_and_state(stores: Skipline) -> None:
    shown = stores("store", "show", "a.duckdb", "--metric", "latency_ns.p99").out
    assert "latency_ns.p99, ns" in shown and "unsettled" in shown
    found = rows(stores("store", "show", "a.duckdb", "--format", "csv").out)
    assert [one["rx_descriptors"] for one in found] == [256, 512]
    assert "throughput_gbps" in found[0]
    done = stores("store", "show", "a.duckdb", "--metric", "latency_ns.p98")
    assert done.code == 2 or "latency_ns.p98" in done.out
    assert stores("store", "show", "a.duckdb", "--sweep", "7").code == 2
    # Percentiles have the short names that `report` takes.
    assert stores("store", "show", "a.duckdb", "--metric", "p99").out == shown
    assert stores("store", "export", "a.duckdb", "--metric", "p99", "--csv", "p99.csv").code == 0
    assert list(rows((stores.directory / "p99.csv").read_text())[0])[-1] == "latency_ns.p99"


def test_sql_reads_and_does_not_write(stores: Skipline) -> None:
    done = stores("store", "sql", "a.duckdb", "SELECT count(*) AS n FROM points", "--format", "csv")
    assert rows(done.out) == [{"n": 2}]
    for query in ("DELETE FROM points", "SELECT nonsense"):
        refused = stores("store", "sql", "a.duckdb", query)
        assert refused.code == 2 and "Traceback" not in refused.err


def test_numbers_are_exported(stores: Skipline, tmp_path: Path) -> None:
    assert stores("store", "export", "a.duckdb").code == 2
    done = stores("store", "export", "a.duckdb", "--parquet", "a.parquet", "--csv", "a.csv")
    assert done.code == 0, done.err
    numbers = pl.read_parquet(tmp_path / "a.parquet")
    with api.Store(tmp_path / "a.duckdb") as store:
        assert numbers.equals(store.numbers())
        assert store.units()["latency_ns.p99"] == "ns"
        assert "a.duckdb" in store._repr_html_()
    assert len(rows((tmp_path / "a.csv").read_text())) == len(numbers)


def test_merged_stores_have_each_point_once(stores: Skipline, tmp_path: Path) -> None:
    done = stores("store", "merge", "all.duckdb", "a.duckdb", "b.duckdb")
    assert done.out.splitlines() == [
        "a.duckdb: 1 sweeps and 2 points added",
        "b.duckdb: 1 sweeps and 1 points added",
    ]
    with api.Store(tmp_path / "all.duckdb") as both, api.Store(tmp_path / "b.duckdb") as b:
        assert both.sweeps()["done"].to_list() == [2, 2]
        assert both.numbers(sweep=2).equals(b.numbers())
    again = stores("store", "merge", "all.duckdb", "b.duckdb").out
    assert again == "b.duckdb: 0 sweeps and 0 points added\n"
    # What was merged is not simulated again.
    there = stores(*SWEEP, "--axis", "rx_descriptors=256,512,1024", "--store", "all.duckdb")
    assert "3 reused" in there.out
    assert stores("store", "merge", "a.duckdb", "a.duckdb").code == 2


def test_a_forgotten_sweep_leaves_what_others_ask_for(stores: Skipline) -> None:
    stores("store", "merge", "a.duckdb", "b.duckdb")
    done = stores("store", "forget", "a.duckdb", "--sweep", "1")
    assert done.out == "a.duckdb: 1 sweeps and 1 points forgotten\n"
    assert "what to forget" in stores("store", "forget", "a.duckdb").err
    assert (
        "2 reused" in stores(*SWEEP, "--axis", "rx_descriptors=512,1024", "--store", "a.duckdb").out
    )
