"""A damaged store is refused in words by every command, stays as it is, and is salvaged."""

import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import damaged_stores
import skipline as api
from command_line import L2FWD, Skipline
from skipline.store import parts

BRIEF = ["--set", "run.batch_packets=64", "--set", "run.max_batches=10"]
AXES = ["--axis", "rx_descriptors=64,128", "--axis", "ddio_ways=1,2"]
SWEEP = ["sweep", L2FWD, *BRIEF, *AXES]
# Every command that opens a store: `z.duckdb` is the damaged one.
COMMANDS = {
    "list": ["store", "list", "z.duckdb"],
    "show": ["store", "show", "z.duckdb"],
    "sql": ["store", "sql", "z.duckdb", "SELECT count(*) FROM points"],
    "export": ["store", "export", "z.duckdb", "--csv", "z.csv"],
    "merge": ["store", "merge", "all.duckdb", "z.duckdb"],
    "merge into": ["store", "merge", "z.duckdb", "s.duckdb"],
    "forget": ["store", "forget", "z.duckdb", "--sweep", "1"],
    "check": ["store", "check", "z.duckdb"],
    "report": ["report", "z.duckdb", "--out", "z.html"],
    "diff": ["diff", "z.duckdb", "s.duckdb"],
    "sweep": [*SWEEP, "--store", "z.duckdb"],
    "advise": ["advise", L2FWD, *BRIEF, "--goal", "p99", "--budget", "1", "--store", "z.duckdb"],
}
THOROUGH = ("cut to 20 %", "cut to 95 %", "one bit flipped")
SEED = 1
# Where tests are many, the number that makes them others is printed.
MANY_SEED = int(os.environ.get("PROPTEST_RNG_SEED", "1"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a sweep of four points."""
    folder = tmp_path_factory.mktemp("whole")
    done = Skipline(folder)(*SWEEP, "--store", "s.duckdb")
    assert done.code == 0, done.err
    # What stands in free blocks is no part of a store: damage there is none.
    looked = parts.look(str(folder / "s.duckdb"))
    assert looked is not None and (looked.damage, looked.free_blocks) == ([], frozenset())
    return (folder / "s.duckdb").read_bytes()


@pytest.fixture
def beside(skipline: Skipline, whole: bytes) -> Skipline:
    """The command line beside the whole store, s.duckdb."""
    (skipline.directory / "s.duckdb").write_bytes(whole)
    return skipline


def put(skipline: Skipline, content: bytes) -> Path:
    path = skipline.directory / "z.duckdb"
    path.write_bytes(content)
    return path


def assert_in_words(skipline: Skipline, command: list[str], path: Path) -> None:
    before = path.read_bytes()
    there = sorted(skipline.directory.iterdir())
    done = skipline(*command)
    assert done.code == 2, (command, done)
    assert done.out == "" and "Traceback" not in done.err
    assert done.err.startswith("error: ") and "z.duckdb" in done.err
    assert path.read_bytes() == before
    assert sorted(skipline.directory.iterdir()) == there


@pytest.mark.parametrize("damage", damaged_stores.NAMED)
def test_a_damaged_store_is_refused_and_stays(beside: Skipline, whole: bytes, damage: str) -> None:
    content = damaged_stores.NAMED[damage](whole)
    assert content != whole
    path = put(beside, content)
    # All commands open stores by one function: for most kinds of damage two of them will do.
    names = COMMANDS if damage in THOROUGH else ("list", "sweep")
    for name in names:
        assert_in_words(beside, COMMANDS[name], path)
    if len(content) > damaged_stores.HEAD_BYTES:
        told = beside("store", "list", "z.duckdb").err
        assert "this store is damaged" in told and "store salvage z.duckdb" in told


def test_what_is_no_store_is_refused_by_every_command(beside: Skipline) -> None:
    path = beside.directory / "z.duckdb"
    path.mkdir()
    for name, command in COMMANDS.items():
        done = beside(*command)
        assert done.code == 2 and "Traceback" not in done.err, (name, done)
    path.rmdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE points (x)")
    other.close()
    for command in COMMANDS.values():
        assert_in_words(beside, command, path)
    path.unlink()
    with duckdb.connect(str(path)) as mine:
        mine.execute("CREATE TABLE meta (kind INTEGER)")
    for command in COMMANDS.values():
        assert_in_words(beside, command, path)


def test_a_file_of_a_newer_duckdb_is_refused_with_its_reason(
    beside: Skipline, whole: bytes
) -> None:
    from skipline._core import store_checksum

    page = bytearray(whole[:4096])
    page[12] = 200
    page[:8] = store_checksum(bytes(page[8:])).to_bytes(8, "little")
    path = put(beside, bytes(page) + whole[4096:])
    for command in COMMANDS.values():
        assert_in_words(beside, command, path)
    assert "version" in beside("store", "list", "z.duckdb").err


def test_memory_is_no_file_of_a_store(skipline: Skipline) -> None:
    for command in (
        [*SWEEP, "--store", ":memory:"],
        ["store", "list", ":memory:"],
        ["store", "merge", ":memory:", "x.duckdb"],
        ["store", "sql", ":memory:x", "SELECT 1"],
    ):
        done = skipline(*command)
        assert done.code == 2 and "keep nothing" in done.err, done
    with pytest.raises(api.InputError, match="keep nothing"):
        api.sweep(L2FWD, {"rx_descriptors": [64]}, store=":memory:")


def test_a_whole_store_is_checked_and_counted(beside: Skipline) -> None:
    done = beside("store", "check", "s.duckdb")
    assert done.code == 0 and done.out.startswith("s.duckdb: whole: 4 points, "), done


def test_numbers_that_another_program_changed_are_found(beside: Skipline) -> None:
    path = beside.directory / "s.duckdb"
    with duckdb.connect(str(path)) as store:
        store.execute("UPDATE numbers SET value = value + 1 WHERE point = 1")
    done = beside("store", "check", "s.duckdb")
    assert done.code == 2 and "1 points have other numbers" in done.err
    saved = beside("store", "salvage", "s.duckdb", "new.duckdb")
    assert "lost: 1 points of which not all numbers" in saved.out
    assert "saved 3 points" in saved.out
    assert "1 simulated, 3 reused" in beside(*SWEEP, "--store", "new.duckdb").out


def test_a_salvage_of_a_whole_store_loses_nothing(beside: Skipline) -> None:
    done = beside("store", "salvage", "s.duckdb", "new.duckdb")
    assert done.code == 0 and "nothing is lost" in done.out, done
    shown = [
        beside("store", "export", name, "--csv", f"{name}.csv")
        for name in ("s.duckdb", "new.duckdb")
    ]
    assert [one.code for one in shown] == [0, 0]
    exported = [
        (beside.directory / f"{name}.csv").read_bytes() for name in ("s.duckdb", "new.duckdb")
    ]
    assert exported[0] == exported[1]
    assert "4 reused" in beside(*SWEEP, "--store", "new.duckdb").out
    again = beside("store", "salvage", "s.duckdb", "new.duckdb")
    assert again.code == 2 and "there already" in again.err


def test_a_store_with_a_damaged_beginning_is_salvaged_whole(beside: Skipline, whole: bytes) -> None:
    for damage in ("zeros at the beginning", "its kind flipped", "without its last byte"):
        put(beside, damaged_stores.NAMED[damage](whole))
        done = beside("store", "salvage", "z.duckdb", "new.duckdb")
        assert done.code == 0 and "saved 4 points" in done.out, (damage, done)
        (beside.directory / "new.duckdb").unlink()


def test_the_log_of_a_killed_writer_is_looked_at_like_its_store(
    beside: Skipline, whole: bytes
) -> None:
    path = put(beside, whole)
    program = (
        "import os\n"
        "from skipline.store.writing import Writer\n"
        "writer = Writer('z.duckdb')\n"
        "writer.connection.execute(\"UPDATE sweeps SET title = 'of the log'\")\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=beside.directory, check=True)
    log = beside.directory / "z.duckdb.wal"
    content = log.read_bytes()
    with api.Store(path) as opened:
        assert opened.sql("SELECT title FROM sweeps").rows() == [("of the log",)]
    # A change that was not finished does not count; the store is whole.
    log.write_bytes(content[:-1])
    with api.Store(path) as opened:
        assert opened.sql("SELECT title FROM sweeps").rows() != [("of the log",)]
    for at in (3, len(content) // 2, len(content) - 1):
        damaged = bytearray(content)
        damaged[at] ^= 0x10
        log.write_bytes(damaged)
        with pytest.raises(api.InputError, match="its log"):
            api.Store(path)
        assert (path.read_bytes(), log.read_bytes()) == (whole, bytes(damaged))
    done = beside("store", "salvage", "z.duckdb", "new.duckdb")
    assert done.code == 0 and "bytes of its log, the last changes" in done.out, done
    assert "saved 4 points" in done.out
    assert (path.read_bytes(), log.read_bytes()) == (whole, bytes(damaged))


def rows_of(path: Path) -> dict[str, set[tuple[object, ...]]]:
    with duckdb.connect(str(path), read_only=True) as store:
        found = {}
        for table in ("points", "numbers"):
            query = f"SELECT * EXCLUDE (point) FROM {table}"
            found[table] = set(store.execute(query).fetchall())
        return found


def check_at_random(beside: Skipline, whole: bytes, seed: int, cases: int) -> dict[str, int]:
    """Damage a store in many ways: none is read as if it were whole, what is saved is true."""
    chosen = random.Random(seed)
    known = rows_of(beside.directory / "s.duckdb")
    counts = {"refused": 0, "unchanged": 0, "salvaged": 0}
    for case in range(cases):
        content = damaged_stores.at_random(whole, chosen)
        if content == whole or not content:
            counts["unchanged"] += 1
            continue
        path = put(beside, content)
        name, command = chosen.choice(list(COMMANDS.items()))
        done = beside(*command)
        told = f"seed {seed}, case {case}, {name}: {done}"
        assert "Traceback" not in done.err and path.read_bytes() == content, told
        assert done.code == 2 and done.out == "", told
        counts["refused"] += 1
        new = beside.directory / "new.duckdb"
        saved = beside("store", "salvage", "z.duckdb", "new.duckdb")
        assert saved.code in (0, 2) and "Traceback" not in saved.err, f"{told}; {saved}"
        assert path.read_bytes() == content
        if saved.code == 0:
            counts["salvaged"] += 1
            for table, rows in rows_of(new).items():
                assert rows <= known[table], told
            new.unlink()
    return counts


def test_no_damage_at_random_is_taken_for_a_whole_store(beside: Skipline, whole: bytes) -> None:
    assert check_at_random(beside, whole, SEED, 20)["refused"] > 10


@pytest.mark.soak
def test_no_damage_at_random_of_many_is_taken_for_a_whole_store(
    beside: Skipline, whole: bytes
) -> None:
    print(f"damaged stores with seed {MANY_SEED}: PROPTEST_RNG_SEED={MANY_SEED}")
    assert check_at_random(beside, whole, MANY_SEED, 100)["refused"] > 50
