"""The schemas accept what Skipline reads and writes, and no key that it does not know."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from command_line import SHORT_BATCH
from skipline import _core, resources
from skipline.experiment import catalogue
from skipline.experiment.definition import Experiment
from skipline.experiment.points import points

FORWARDER = "experiments/ddio-bench/l2fwd.toml"
LENGTH = {"batch_packets": SHORT_BATCH, "min_batches": 10, "max_batches": 10}
SHORT = [(f"run.{key}", str(value)) for key, value in LENGTH.items()]


def _faults(kind: str, document: dict[str, Any]) -> list[str]:
    """Return what the schema of a kind says against a document."""
    validator = jsonschema.Draft202012Validator(json.loads(_core.schema(kind)))
    return [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(document)]


def _read(path: str) -> dict[str, Any]:
    return tomllib.loads(resources.read_text(path))


def _scenarios() -> list[str]:
    """Return the scenarios among the files of the program: they name a platform or a testbed."""
    folders = ("examples/", "experiments/")
    named = [path for path in _core.builtin_files() if path.startswith(folders)]
    files = [path for path in named if path.endswith(".toml")]
    machine = {"platform", "testbed"}
    return [path for path in files if machine & _read(path).keys() and "calibration" not in path]


def test_every_experiment_of_the_program_fits_its_schema() -> None:
    schema = Experiment.model_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    documents = {path: _read(path) for path in catalogue.paths("experiments")}
    assert len(documents) > 20
    assert {path: list(validator.iter_errors(it)) for path, it in documents.items()} == {
        path: [] for path in documents
    }
    some = next(iter(documents.values()))
    assert list(validator.iter_errors({**some, "sources": "x"})), "it knows all its keys"
    assert list(validator.iter_errors({**some, "repeats": 0})), "it knows ranges"


@pytest.mark.parametrize("kind", ["scenario", "platform", "result"])
def test_a_schema_is_one(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(_core.schema(kind)))


def test_every_scenario_of_the_program_fits_the_schema() -> None:
    paths = _scenarios()
    entries = [catalogue.load(path) for path in catalogue.paths("experiments")]
    assert {point.scenario for entry in entries for point in points(entry)} <= set(paths)
    faults = {path: _faults("scenario", _read(path)) for path in paths}
    assert faults == {path: [] for path in paths}


def test_every_platform_of_the_program_fits_the_schema() -> None:
    names = _core.platform_names()
    faults = {name: _faults("platform", _read(f"platforms/{name}.toml")) for name in names}
    assert faults == {name: [] for name in names}


def test_a_platform_that_extends_none_states_everything() -> None:
    whole = {"title": "Mine", "extends": "skylake-gold-6140"}
    assert _faults("platform", whole) == []
    assert _faults("platform", {**whole, "cpu": {"cores": 3}}) != []
    assert _faults("platform", {"title": "Mine"}) != []
    assert _faults("platform", {**whole, "extends": 5}) != []
    fact = {"value": 8, "source": "lscpu", "confidence": "seen"}
    assert _faults("platform", {**whole, "cpu": {"cores": fact}}) == []
    assert _faults("platform", {**whole, "cpu": {"cores": {**fact, "origin": "x"}}}) != []


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("tenant", {"name": "other"}),
        ("co_runner", {"working_set_bytes": 65536}),
        ("event", {"at_us": 10, "ddio_ways": 4}),
    ],
)
def test_a_single_table_needs_no_list(key: str, table: dict[str, Any]) -> None:
    platform = {"platform": "skylake-gold-6140"}
    assert _faults("scenario", {**platform, key: table}) == []
    assert _faults("scenario", {**platform, key: [table]}) == []
    assert _faults("scenario", {**platform, key: {**table, "coers": 1}}) != []


@pytest.mark.parametrize(
    ("kind", "path", "inner"),
    [
        ("scenario", FORWARDER, "run"),
        ("platform", "platforms/skylake-gold-6140.toml", "llc"),
    ],
)
def test_a_mistyped_key_is_refused(kind: str, path: str, inner: str) -> None:
    document = _read(path)
    (told,) = _faults(kind, {**document, "mistyped": 1})
    assert "'mistyped' was unexpected" in told
    (told,) = _faults(kind, {**document, inner: {**document.get(inner, {}), "mistyped": 1}})
    assert "'mistyped' was unexpected" in told or "not valid under any" in told


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ddio_ways", 99),
        ("ddio_ways", -1),
        ("rx_descriptors", 100),
        ("offered_gbps", 0),
        ("nic", "connectx5"),
        ("ssd", "p4800"),
        ("platform", "skylake"),
        ("application", "l2-forwarder"),
        ("traffic", {"flow_zipf": 4.5}),
        ("memory_kernel", {"working_set_bytes": 63}),
        ("memory_kernel", {"working_set_bytes": 64, "slices": [256]}),
    ],
)
def test_a_value_that_a_run_refuses_is_refused(key: str, value: object) -> None:
    assert _faults("scenario", {"platform": "skylake-gold-6140", key: value}) != []


@pytest.mark.parametrize("key", ["nic", "ssd", "platform"])
def test_a_name_may_be_the_path_of_a_file(key: str) -> None:
    named = {"platform": "skylake-gold-6140", key: "machines/of-mine.toml"}
    assert _faults("scenario", named) == []


@pytest.mark.parametrize("scenario", _scenarios())
def test_a_result_fits_the_schema(scenario: str) -> None:
    # A scenario that states its batches has much in each unit of work, such as a message of 1 MiB.
    is_short = "batch_packets" in (_core.builtin_file(scenario) or "")
    result = json.loads(_core.run(scenario, [] if is_short else SHORT))
    assert _faults("result", result) == []
    assert _faults("result", {**result, "mistyped": 1}) != []


def test_a_result_with_stories_fits_the_schema() -> None:
    result = json.loads(_core.run(FORWARDER, SHORT, trace_packet=1, trace_line=0, miss_kinds=True))
    assert {"trace", "trace_address", "line_trace", "miss_kinds"} <= set(result)
    assert _faults("result", result) == []


def test_a_result_with_the_story_of_a_descriptor_fits_the_schema() -> None:
    scenario = "examples/previous-copy-engine.toml"
    result = json.loads(_core.run(scenario, [*SHORT, ("run.timeline", "true")], trace_descriptor=3))
    assert {"descriptor_trace", "timeline"} <= set(result)
    assert _faults("result", result) == []


def test_a_result_with_a_timeline_fits_the_schema(tmp_path: Path) -> None:
    scenario = tmp_path / "changes.toml"
    text = resources.read_text(FORWARDER)
    scenario.write_text(f"{text}\n[[event]]\nat_us = 10\nddio_ways = 4\n")
    result = json.loads(_core.run(str(scenario), SHORT))
    assert result["timeline"]
    assert _faults("result", result) == []
