"""`store sql` answers each query of a store, or refuses it in words; it changes nothing."""

import json
from pathlib import Path

import pytest

import skipline as api
from command_line import L2FWD, Skipline

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
    "'12:00+02'::TIMETZ": "12:00",
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
    for value, shown in VALUES.items():
        done = store("store", "sql", "s.duckdb", f"SELECT {value} AS v", "--format", form)
        assert done.code == 0, (value, done)
        unquoted = done.out.replace('""', '"')
        assert shown in unquoted or json.dumps(shown)[1:-1] in unquoted, (value, done.out)


@pytest.mark.parametrize("form", FORMATS)
def test_every_query_is_answered(store: Skipline, form: str) -> None:
    for query in ANSWERED:
        done = store("store", "sql", "s.duckdb", query, "--format", form)
        assert done.code == 0 and done.err == "", (query, done)


def test_json_has_no_word_that_json_lacks(store: Skipline) -> None:
    query = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, 1.5::DOUBLE AS c"
    done = store("store", "sql", "s.duckdb", query, "--format", "json")

    def refuse(word: str) -> float:
        raise AssertionError(word)

    (row,) = json.loads(done.out, parse_constant=refuse)["rows"]
    assert row == {"a": "nan", "b": "inf", "c": 1.5}


def test_what_is_no_single_reading_query_is_refused_in_words(store: Skipline) -> None:
    path = store.directory / "s.duckdb"
    before = path.read_bytes()
    there = sorted(store.directory.iterdir())
    for query, told in REFUSED.items():
        done = store("store", "sql", "s.duckdb", query)
        assert (done.code, done.out) == (2, ""), (query, done)
        assert done.err.startswith("error: s.duckdb: ") and told in done.err, (query, done.err)
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
