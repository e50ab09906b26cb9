"""Results of earlier versions are read as the present one writes them, later ones refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from skipline import InputError
from skipline.runs import result, result_versions
from skipline.runs.run_command import RESULT_FILE

KEY = result_versions.KEY


@pytest.fixture
def record(short_run: Path) -> dict[str, Any]:
    """A result of the present version."""
    found: dict[str, Any] = json.loads((short_run / RESULT_FILE).read_text())
    return found


def read(record: dict[str, Any]) -> result.Result:
    return result.parse(json.dumps(record), "some.json")


def test_a_result_states_its_version(record: dict[str, Any]) -> None:
    assert record[KEY] == result_versions.CURRENT
    assert read(record).schema_version == result_versions.CURRENT


def test_a_result_of_0_1_0_is_brought_to_the_present_format(record: dict[str, Any]) -> None:
    old = {key: value for key, value in record.items() if key not in (KEY, "answer", "limits")}
    old["metrics"] = {
        name: {key: metric[key] for key in ("value", "ci95", "unit")}
        for name, metric in record["metrics"].items()
    }
    assert read(old).metrics == read(record).metrics
    assert read(old).schema_version == result_versions.CURRENT


def test_a_metric_that_this_version_does_not_know_stays_as_it_is(record: dict[str, Any]) -> None:
    del record[KEY]
    record["metrics"]["of_long_ago"] = {"value": 1.0, "unit": "lines"}
    assert read(record).metrics["of_long_ago"].label is None


@pytest.mark.parametrize("version", [2, 99, 2**70])
def test_a_result_of_a_later_version_is_refused_with_the_remedy(
    record: dict[str, Any], version: int
) -> None:
    with pytest.raises(InputError, match=f"{KEY} = {version}: .*pip install --upgrade skipline"):
        read({**record, KEY: version})


@pytest.mark.parametrize("version", [-1, 1.5, "1", None, True])
def test_what_is_no_version_is_refused(record: dict[str, Any], version: object) -> None:
    with pytest.raises(InputError, match=r"some\.json: schema_version = .*not a version"):
        read({**record, KEY: version})
