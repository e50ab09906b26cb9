"""Does the command line start and tell what it can do?"""

import json
import tomllib

import pytest

from command_line import EXPERIMENTS, REPOSITORY, Skipline

COMMANDS = (
    "run",
    "demo",
    "explore",
    "init",
    "examples",
    "experiment",
    "evidence",
    "calibrate",
    "platforms",
    "metrics",
    "schema",
    "report",
    "trace",
    "budget",
    "host",
    "completion",
    "sweep",
    "store",
    "diff",
    "advise",
)


def test_help_lists_every_command(skipline: Skipline) -> None:
    done = skipline("--help")
    assert done.code == 0
    for command in COMMANDS:
        assert command in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(skipline: Skipline, command: str) -> None:
    done = skipline(command, "--help")
    assert done.code == 0
    assert "Usage: skipline" in done.out


def test_version_is_the_version_of_the_package(skipline: Skipline) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert skipline("--version").out == f"skipline {project['version']}\n"


@pytest.mark.parametrize("kind", ["scenario", "platform", "result"])
def test_schemas_are_json_schemas(skipline: Skipline, kind: str) -> None:
    assert "$schema" in skipline("schema", kind).json


def test_platforms_are_listed_without_a_subcommand(skipline: Skipline) -> None:
    assert "skylake-gold-6140" in skipline("platforms").out
    assert skipline("platforms").out == skipline("platforms", "list").out


def test_every_fact_of_a_platform_has_a_source_and_a_confidence(skipline: Skipline) -> None:
    def check(table: dict[str, object], place: str) -> int:
        if "value" in table:
            assert table["source"], place
            assert table["confidence"] in ("seen", "derived", "memory", "fitted"), place
            assert table["confidence"] != "fitted" or table["fitted_on"], place
            return 1
        tables = [(key, entry) for key, entry in table.items() if isinstance(entry, dict)]
        return sum(check(entry, f"{place}.{key}") for key, entry in tables)

    done = skipline("platforms", "show", "skylake-gold-6140", "--format", "json")
    assert check(done.json, "platform") > 0


def test_platform_facts_show_their_source_to_people(skipline: Skipline) -> None:
    done = skipline("platforms", "show", "skylake-gold-6140")
    assert "source" in done.out
    assert "seen" in done.out


def test_experiments_are_listed_with_their_question(skipline: Skipline) -> None:
    listed = json.loads(skipline("experiment", "list", "--format", "json").out)["experiments"]
    assert set(EXPERIMENTS) <= {entry["id"] for entry in listed}
    assert all(entry["question"].endswith("?") for entry in listed)


def test_an_experiment_shows_its_points_and_checks(skipline: Skipline) -> None:
    shown = skipline("experiment", "show", "pktsize-desc", "--format", "json").json
    assert len(shown["points"]) == 24
    checks = {check["name"] for check in shown["check"]}
    latencies = {"median-latency", "worst-median-latency", "tail-latency"}
    assert checks == {"hit-rates", "throughput", *latencies}
