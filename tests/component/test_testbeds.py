"""Does a testbed decide what a claim is worth, and what a kept result depends on?"""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import REPOSITORY, Skipline
from made_up_rates import CLAIM, EXPERIMENT, finished
from skipline import _core
from skipline.experiment import catalogue, claim_verdicts, outcome
from skipline.platforms import testbeds
from skipline.platforms.testbeds import FittedParameter
from skipline.runs import identity
from skipline.text import json_record

MINE = """title = "my rack"
platform = "skylake-gold-6140"
measurements = ["my rack"]
[settings]
pool_cache = { value = 64, source = "its start script", confidence = "seen" }
"""
PARAMETERS = [
    {"key": "llc.ways", "value": 11, "fitted_on": "elsewhere; my rack: hit rates"},
    {"key": "dram.path_ns", "value": 50.0, "fitted_on": "elsewhere: latency"},
]


def a_testbed(*measurements: str) -> dict[str, object]:
    """A testbed with measurements of these names."""
    return {
        "name": "mine",
        "title": "t",
        "platform": "p",
        "measurements": list(measurements),
        "settings": [],
    }


@pytest.mark.parametrize(
    ("measurements", "parameters", "basis"),
    [
        (["my rack"], PARAMETERS, "fitted"),
        (["another rack"], PARAMETERS, "fitted elsewhere"),
        ([], PARAMETERS, "fitted elsewhere"),
        (["my rack"], [], "predicted"),
    ],
)
def test_a_claim_is_predicted_only_if_nothing_was_chosen(
    tmp_path: Path, measurements: list[str], parameters: list[dict[str, Any]], basis: str
) -> None:
    check = 'at("rx_mpps", size=64, mode="on") > 1'
    (tmp_path / "e.toml").write_text(f"{EXPERIMENT}{CLAIM}value = '{check}'\n")
    entry = catalogue.load((tmp_path / "e.toml").as_posix())
    facts = {"testbed": a_testbed(*measurements), "fitted_parameters": parameters}
    done = finished(entry, more_facts=facts)
    (verdict,) = claim_verdicts.of_experiment(entry, done, [])
    assert verdict.basis == basis
    # Points keep theirs: what was measured at them.
    assert [one.point.basis for one in done] == ["predicted", "predicted", "fitted"]
    (known,) = outcome.conclude(entry, done, None).summary.testbeds
    read = json_record.read(list[FittedParameter], json.dumps(parameters))
    chosen = [one.key for one in read if known.tuned(one)]
    assert chosen == (["llc.ways"] if basis == "fitted" else [])


def test_a_result_depends_on_the_file_of_its_testbed(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(MINE)
    scenario = tmp_path / "s.toml"
    scenario.write_text("testbed = 'mine.toml'\nrx_descriptors = 256\n")
    before = identity.inputs(str(scenario), [])
    assert str(tmp_path / "mine.toml") in before.files
    (tmp_path / "mine.toml").write_text(MINE.replace("64", "128"))
    after = identity.inputs(str(scenario), [])
    assert before.question(1) != after.question(1)
    assert '"pool_cache":128' in after.resolved.replace(" ", "")


def test_each_published_scenario_names_its_testbed_and_repeats_nothing_of_it() -> None:
    own = "experiments/own/", "experiments/calibration/", "experiments/predictions/"
    for path in sorted((REPOSITORY / "experiments").rglob("*.toml")):
        name = path.relative_to(REPOSITORY).as_posix()
        text = path.read_text()
        if "\napplication = " not in text or name.startswith(own) or "cbdma" in name:
            continue
        (line,) = (line for line in text.splitlines() if line.startswith("testbed = "))
        known = testbeds.read(line.split('"')[1])
        resolved, _ = _core.resolve_scenario(str(path), [])
        assert resolved
        for setting in known.settings:
            stated = f"{setting.key} = {setting.value}", f'{setting.key} = "{setting.value}"'
            assert not {*stated} & {*text.splitlines()}, f"{name}: {setting.key}"


def test_testbeds_are_listed_shown_and_refused(skipline: Skipline, tmp_path: Path) -> None:
    assert "atc20-skylake" in skipline("testbeds").out
    assert skipline("testbeds", "list").out == skipline("testbeds").out
    shown = skipline("testbeds", "show", "atc20-skylake").out
    assert "traffic.turn_packets" in shown
    assert "fitted on ddio-bench" in " ".join(shown.split())
    (tmp_path / "mine.toml").write_text(MINE)
    told = skipline("testbeds", "show", str(tmp_path / "mine.toml"), "--format", "json").json
    assert told["settings"][0]["source"] == "its start script"
    rows = skipline("testbeds", "show", "ispass20-xeon", "--format", "csv").out.splitlines()
    assert rows[0] == "key,value,source,confidence,fitted_on"
    assert any(row.startswith("block_io.reads_data,") for row in rows)
    for wrong, words in [("atc20-skylak", "atc20-skylake"), ("none.toml", "no such file")]:
        refused = skipline("testbeds", "show", wrong)
        assert refused.code == 2
        assert words in refused.err
