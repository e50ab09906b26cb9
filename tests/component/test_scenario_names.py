"""Are built-in scenarios found by their short names, and experiments told apart?"""

from pathlib import Path

import pytest

from skipline import InputError
from skipline.scenarios import names, settings
from skipline.text import json_record, nearest, toml_model


def test_an_example_is_found_by_its_name() -> None:
    assert names.path_of("forward-100g") == "examples/forward-100g.toml"
    assert names.path_of("l2fwd") == "experiments/ddio-bench/l2fwd.toml"


@pytest.mark.parametrize("path", ["mine.toml", "folder/scenario", "nothing-like-it-at-all"])
def test_a_path_is_left_as_it_is(path: str) -> None:
    assert names.path_of(path) == path


def test_a_file_on_disk_comes_before_an_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forward-100g").write_text("")
    assert names.path_of("forward-100g") == "forward-100g"


def test_an_experiment_says_how_it_is_run() -> None:
    with pytest.raises(InputError, match="skipline experiment run pktsize-desc"):
        names.path_of("pktsize-desc")


def test_a_mistyped_name_gets_the_nearest_one() -> None:
    with pytest.raises(InputError, match="did you mean 'forward-100g'"):
        names.path_of("Forward-100")


def test_a_mistyped_file_of_the_folder_is_the_nearest_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edge-box.toml").write_text("")
    with pytest.raises(InputError, match=r"did you mean 'edge-box\.toml'"):
        names.path_of("edge-box.tml")


def test_of_a_key_that_is_set_twice_the_last_wins_and_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = settings.parse_settings(["cores=1", "burst=8", "cores=2"])
    assert dict(found) == {"cores": "2", "burst": "8"} and len(found) == 2
    told = capsys.readouterr().err
    assert told == "note: --set cores is there twice; the last one wins: 2\n"
    settings.parse_settings(["cores=1", "burst=8"])
    assert capsys.readouterr().err == ""


def test_capitals_and_hyphens_are_no_other_name() -> None:
    known = ["rx_descriptors", "connectx-5"]
    assert nearest.did_you_mean("RX-DESCRIPTORS", known) == " (did you mean 'rx_descriptors'?)"
    assert nearest.did_you_mean("ConnectX5", known) == " (did you mean 'connectx-5'?)"


def test_faults_are_told_in_our_words() -> None:
    from typing import Literal

    from pydantic import BaseModel, Field

    class Table(BaseModel):
        count: int = Field(default=1, ge=1)
        kind: Literal["line", "bar"] = "line"
        rows: list[int] = []

    cases = {
        "count = 'x'": "key 'count' = 'x': should be a whole number",
        "count = 0": "key 'count' = 0: at least 1",
        "kind = 'lin'": "key 'kind' = 'lin': allowed: 'line' or 'bar' (did you mean 'line'?)",
        "rows = 3": "key 'rows' = 3: should be a list",
    }
    for text, told in cases.items():
        with pytest.raises(InputError) as refused:
            toml_model.load(Table, text, "a.toml")
        assert str(refused.value) == f"a.toml: {told}"


def test_faults_of_json_are_told_in_our_words() -> None:
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Record:
        count: int

    for text, told in (
        ("{}", "count: missing"),
        ('{"count": "x"}', "count: should be a whole number, not a text"),
    ):
        with pytest.raises(ValueError) as refused:
            json_record.read(Record, text)
        assert str(refused.value) == told
