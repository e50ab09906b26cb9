"""`store sql` answers each query of a store, or refuses it in words; it changes nothing."""

import json
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

import skipline as api
from command_line import L2FWD, Skipline
from skipline.commands import store as commands

SWEEP = ["sweep", L2FWD, "--set", "run.batch_packets=64", "--set", "run.max_batches=10"]
FORMATS = ("table", "csv", "json")
# Values of each type that DuckDB has, with a part of how they are shown.
VALUES = {
    "'\\xAA'::BLOB": "xAA",
    "[1, 2]": "[1, 2]",
    "{'a': 1, 'b': [2]}": "'b': [2]",
    "map {'x': 1}": "x=1",
    "INTERVAL 3 DAYS": "3 days",
    "'a'::ENUM ('a', 'b')": "a",
    "170141183460469231731687303715884105727": "170141183460469231731687303715884105727",
    "340282366920938463463374607431768211455::UHUGEINT": "340282366920938463463374607431768211455",
    "'nan'::DOUBLE": "nan",
    "'-inf'::FLOAT": "-inf",
    "'101'::BIT": "101",
    "'12:00:00+02'::TIMETZ": "12:00",
    "'infinity'::TIMESTAMP": "infinity",
    "'290000-01-01'::DATE": "290000-01-01",
    "'290000-01-01'::TIMESTAMP": "290000-01-01",
    "TIMESTAMPTZ '2020-01-01 00:00:00+00'": "2020-01-01",
    "1.5::DECIMAL(38, 10)": "1.5",
    "union_value(a := 1)": "1",
    "[1, 2]::INTEGER[2]": "[1, 2]",
    "12345678901234567890123456789012345678901234567890::BIGNUM": "1234567890123",
    "row(1, 2)": "1",
    "[]": "[]",
    "gen_random_uuid()": "-",
    "'{}'::JSON": "{}",
    "NULL": "",
    "[[NULL], NULL]": "NULL",
}
REFUSED = {
    "": "no query",
    " ": "no query",
    ";": "no query",
    "-- only a comment": "no query",
    "/* and */ ;; ": "no query",
    "SELECT 1; SELECT 2": "2 statements",
    "SELECT": "Parser Error",
    "SELECT nonsense": "nonsense",
    "SELECT ?": "cannot be answered",
    "INSERT INTO points (point) VALUES (1)": "INSERT is refused",
    "DELETE FROM points": "DELETE is refused",
    "UPDATE points SET seed = 1": "UPDATE is refused",
    "DROP TABLE points": "DROP is refused",
    "CREATE TEMP TABLE x (a INTEGER)": "CREATE is refused",
    "ATTACH 'other.duckdb'": "ATTACH is refused",
    "COPY points TO 'points.csv'": "COPY",
    **{
        f"{before}COPY (SELECT 1) TO '{file}' (FORMAT csv, USE_TMP_FILE false)": told
        for file in ("./s.duckdb", "s.duckdb", "./s.duckdb.wal", "./s.duckdb.wal.checkpoint")
        for before, told in {
            "": "COPY",
            "EXPLAIN ": "COPY is refused",
            "EXPLAIN ANALYZE ": "COPY is refused",
            "EXPLAIN (ANALYZE, FORMAT json) ": "COPY is refused",
            "explain/* ( */analyze -- SELECT 1\n": "COPY is refused",
            "PREPARE p AS ": "PREPARE is refused",
            "WITH a AS (SELECT 1) ": "Parser Error",
            "SELECT 1; ": "2 statements",
            "EXPLAIN SELECT 1; EXPLAIN ANALYZE ": "2 statements",
        }.items()
    },
    "EXECUTE p": "EXECUTE is refused",
    "EXPLAIN ANALYZE": "cannot be answered",
    "EXPLAIN": "cannot be answered",
    "EXPLAIN EXPLAIN SELECT 1": "cannot be answered",
    "EXPLAIN ANALYZE CREATE TEMP TABLE x (a INTEGER)": "CREATE is refused",
    "EXPLAIN ANALYZE INSERT INTO points (point) VALUES (1)": "INSERT is refused",
    "EXPLAIN ANALYZE SET threads = 1": "refused",
    "FROM read_blob('s.duckdb')": "cannot be answered",
    "FROM enable_logging(storage := 'file', storage_path := './s.duckdb')": "cannot be answered",
    "FROM enable_profiling(save_location := './s.duckdb.txt')": "cannot be answered",
    "SELECT interrupted FROM points": "interrupted",
    "SELECT error('INTERRUPT Error: Interrupted!')": "Interrupted",
    "EXPORT DATABASE 'there'": "EXPORT is refused",
    "INSTALL httpfs": "refused",
    "LOAD json": "LOAD is refused",
    "SET threads = 1": "SET is refused",
    "CHECKPOINT": "refused",
    "BEGIN": "TRANSACTION is refused",
    "VACUUM": "VACUUM is refused",
    "FROM 'own.csv'": "cannot be answered",
    "FROM read_text('/etc/hostname')": "cannot be answered",
    "FROM glob('*')": "cannot be answered",
    "FROM range(1000000000000)": "takes more than 1024 MiB",
    "SELECT 'a'::INTEGER": "cannot be answered",
    "SELECT error('mine')": "mine",
    "PIVOT numbers ON metric USING sum(value)": "IN (...)",
}
REFUSED_BY_THE_COMMAND = (
    *("", "-- only a comment", "SELECT 1; SELECT 2", "DELETE FROM points"),
    "EXPLAIN ANALYZE COPY (SELECT 1) TO './s.duckdb' (FORMAT csv, USE_TMP_FILE false)",
    "SELECT interrupted FROM points",
)
ANSWERED = (
    "SELECT 1 AS a, 2 AS a, 3 AS A",
    "SELECT [1] AS a, [2] AS a",
    "SELECT 1 -- with a comment",
    "SELECT [1] ; -- with a comment behind",
    "  SELECT 1 ;; ",
    "VALUES (1, 'x'), (2, NULL)",
    "FROM points SELECT status",
    "WITH a AS (SELECT 1) FROM a",
    "DESCRIBE points",
    "SHOW TABLES",
    "SUMMARIZE points",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1 ; ; -- twice",
    "EXPLAIN (FORMAT json) FROM points",
    "EXPLAIN (SELECT 1)",
    "; EXPLAIN ANALYZE (SELECT ')')",
    "SHOW ALL TABLES",
    "DESCRIBE SELECT 1",
    "SUMMARIZE SELECT 1;",
    "TABLE points ; /* behind */ ; ;",
    "PRAGMA database_list",
    "SELECT * FROM points WHERE false",
    "SELECT 'a,\"b\nc'",
    "FROM points SELECT * EXCLUDE (finished_at)",
    "FROM points SELECT finished_at",
    "PIVOT numbers ON metric IN ('rx_dropped') USING sum(value)",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Skipline:
    """The command line beside s.duckdb, and a table of the user's own."""
    folder = tmp_path_factory.mktemp("asked")
    command = Skipline(folder)
    done = command(*SWEEP, "--axis", "rx_descriptors=128", "--store", "s.duckdb")
    assert done.code == 0, done.err
    (folder / "own.csv").write_text("a\n1\n")
    return command


@pytest.mark.parametrize("form", FORMATS)
def test_values_of_every_type_are_shown(store: Skipline, form: str) -> None:
    columns = ", ".join(f"{value} AS v{at}" for at, value in enumerate(VALUES))
    done = store("store", "sql", "s.duckdb", f"SELECT {columns}", "--format", form)
    assert done.code == 0, done
    unquoted = done.out.replace('""', '"').lower()
    for value, shown in VALUES.items():
        told = shown.lower()
        assert told in unquoted or json.dumps(told)[1:-1] in unquoted, (value, done.out)


@pytest.mark.parametrize("form", FORMATS)
def test_every_query_is_answered(store: Skipline, form: str) -> None:
    path = str(store.directory / "s.duckdb")
    # Without a process for each, which takes its time.
    for query in ANSWERED:
        done = CliRunner().invoke(commands.store, ["sql", path, query, "--format", form])
        assert (done.exit_code, done.stderr) == (0, ""), (query, done)
        assert done.stdout.strip() or "points" in query, query


def test_json_has_no_word_that_json_lacks(store: Skipline) -> None:
    query = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, 1.5::DOUBLE AS c"
    done = store("store", "sql", "s.duckdb", query, "--format", "json")

    def refuse(word: str) -> float:
        raise AssertionError(word)

    (row,) = json.loads(done.out, parse_constant=refuse)["rows"]
    assert row == {"a": "nan", "b": "inf", "c": 1.5}


def test_what_stands_behind_a_query_changes_no_type(store: Skipline) -> None:
    with api.Store(store.directory / "s.duckdb") as opened:
        for end in ("", ";", "; ;", " -- a comment", "; -- a ; comment", " /* ; */ ;; /* x */ ;"):
            for start in ("", "; ", "/* ü; */ "):
                found = opened.sql(f"{start}SELECT 1 AS a, [2] AS b, 'ü;' AS \"é;\", 2.5 AS d{end}")
                assert found.rows() == [(1, "[2]", "ü;", Decimal("2.5"))], (start, end)
                assert found.columns == ["a", "b", "é;", "d"]


def test_columns_keep_their_types(store: Skipline) -> None:
    import polars as pl

    with api.Store(store.directory / "s.duckdb") as opened:
        found = opened.sql(
            "SELECT 1.5 AS a, DATE '9999-12-31' AS b, TIMESTAMP '0001-01-01' AS c, "
            "sum(point) AS d, TIME '23:59:59.5' AS e, 7::UBIGINT AS f, true AS g FROM points"
        )
        assert found.row(0) == (
            *(Decimal("1.5"), date(9999, 12, 31), datetime(1, 1, 1), 1, time(23, 59, 59, 500_000)),
            *(7, True),
        )
        assert found.dtypes == [
            *(pl.Decimal(2, 1), pl.Date, pl.Datetime("us"), pl.Decimal(38, 0), pl.Time),
            *(pl.UInt64, pl.Boolean),
        ]
        finished = opened.sql("SELECT finished_at FROM points")
        assert finished.dtypes[0].base_type() == pl.Datetime
        zoned = opened.sql("SELECT TIMESTAMPTZ '2020-01-01 00:00:00+00' AS a")
        assert zoned.row(0) == (datetime(2020, 1, 1, tzinfo=UTC),)


def test_a_value_beyond_its_type_makes_its_column_texts(store: Skipline) -> None:
    values = {
        "'infinity'::TIMESTAMP": "infinity",
        "'infinity'::TIMESTAMP_NS": "infinity",
        "'-infinity'::TIMESTAMPTZ": "-infinity",
        "'-infinity'::DATE": "-infinity",
        "'290000-01-01'::TIMESTAMP_S": "290000-01-01 00:00:00",
        "'0044-03-15 (BC)'::DATE": "0044-03-15 (BC)",
        "'24:00:00'::TIME": "24:00:00",
        "(2::HUGEINT * 50000000000000000000000000000000000000)": "1" + 38 * "0",
        "'-170141183460469231731687303715884105728'::HUGEINT": (
            "-170141183460469231731687303715884105728"
        ),
        "1::UHUGEINT": "1",
    }
    with api.Store(store.directory / "s.duckdb") as opened:
        for value, shown in values.items():
            rows = f"SELECT 1 AS a, {value} AS b UNION ALL SELECT 2, NULL ORDER BY a"
            assert opened.sql(rows).rows() == [(1, shown), (2, None)], value


def test_json_has_decimals_as_numbers(store: Skipline) -> None:
    query = (
        "SELECT 1.5 AS a, 7::HUGEINT AS b, 2.50::DECIMAL(20, 10) AS c, "
        "12345678901234567890.0123456789 AS d, 0.00000001 AS e"
    )
    done = store("store", "sql", "s.duckdb", query, "--format", "json")
    (row,) = json.loads(done.out)["rows"]
    assert row == {"a": 1.5, "b": 7, "c": 2.5, "d": "12345678901234567890.0123456789", "e": 1e-8}
    shown = store("store", "sql", "s.duckdb", query)
    assert "0.00000001" in shown.out


def test_what_a_reader_has_open_gets_no_file_whatever_the_query(store: Skipline) -> None:
    path = store.directory / "s.duckdb"
    before = path.read_bytes()
    there = sorted(store.directory.iterdir())
    hostile = [
        query for query in REFUSED if re.search(r"COPY|SET|ATTACH|EXPORT|enable|read|'own", query)
    ]
    # Two at once share what DuckDB has open.
    with api.Store(path) as first, api.Store(path) as second:
        for opened in (first, second):
            for query in (*hostile, "SET disabled_filesystems = ''", "RESET disabled_filesystems"):
                with pytest.raises(api.InputError):
                    opened.connection.execute(query)
            assert opened.sql("SELECT count(*) FROM points").rows() == [(1,)]
    assert path.read_bytes() == before
    assert sorted(store.directory.iterdir()) == there


def test_what_is_no_single_reading_query_is_refused_in_words(store: Skipline) -> None:
    path = store.directory / "s.duckdb"
    before = path.read_bytes()
    there = sorted(store.directory.iterdir())
    with api.Store(path) as opened:
        for query, told in REFUSED.items():
            with pytest.raises(api.InputError, match=re.escape(told)) as refused:
                opened.sql(query)
            assert str(refused.value).startswith(f"{path}: "), query
            assert path.read_bytes() == before, query
            assert sorted(store.directory.iterdir()) == there, query
    for query in REFUSED_BY_THE_COMMAND:
        done = store("store", "sql", "s.duckdb", "--", query)
        assert (done.code, done.out) == (2, ""), (query, done)
        assert done.err.startswith("error: s.duckdb: ") and REFUSED[query] in done.err, done.err
        assert "Traceback" not in done.err
    assert path.read_bytes() == before
    assert sorted(store.directory.iterdir()) == there


def test_a_store_in_python_answers_like_the_command(store: Skipline) -> None:
    path = store.directory / "s.duckdb"
    with api.Store(path) as opened:
        assert opened.sql("SELECT ? AS a, [1] AS b", [7]).rows() == [(7, "[1]")]
        for query in ("", "DELETE FROM points", "SELECT 1; SELECT 2"):
            with pytest.raises(api.InputError, match=r"query|refused|statements"):
                opened.sql(query)


def test_a_name_with_a_colon_is_a_file(store: Skipline, tmp_path: Path) -> None:
    command = Skipline(tmp_path)
    (tmp_path / "sqlite:s.duckdb").write_bytes((store.directory / "s.duckdb").read_bytes())
    done = command("store", "list", "sqlite:s.duckdb")
    assert done.code == 0, done.err
    merged = command("store", "merge", "md:all.duckdb", "sqlite:s.duckdb")
    assert merged.code == 0 and (tmp_path / "md:all.duckdb").is_file(), merged.err
