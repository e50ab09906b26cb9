"""Are the tables of results those that their commands write, of what is asked now?

Tables are written from results that are kept in docs/evidence/kept. A table that was edited by hand
differs from them; results of another experiment, claim or command line do not have its rows.
"""

from collections.abc import Iterator
from typing import Any

import pytest

import accuracy
import calibrations
import dsa_figures
import durations
import kept_results
import markdown_files
import page_blocks
import peers
import performance
import scaling
import start
import write_tables
from command_line import REPOSITORY
from skipline.calibrate.definition import Calibration
from skipline.experiment import catalogue
from skipline.experiment.catalogue import Entry
from skipline.experiment.points import points
from skipline.text import toml_model
from skipline.traces.replay import STANDARD_TRACES

PAGE = f"Before\n\n{page_blocks.block('mine', '| a |')}\n\nAfter {page_blocks.block('b', 'c')}\n"


@pytest.mark.parametrize("name", write_tables.TABLES)
def test_a_page_has_the_table_that_the_kept_results_give(name: str) -> None:
    table = write_tables.TABLES[name]
    page = (REPOSITORY / table.page).read_text()
    again = page_blocks.replace(page, name, table.text())
    how = f"python docs/tables/write_tables.py {name}"
    assert page_blocks.blocks(again)[name] == page_blocks.blocks(page)[name], how


def test_every_block_of_a_page_is_a_listed_table_and_the_other_way_round() -> None:
    found = {
        name: str(path.relative_to(REPOSITORY))
        for path in markdown_files.files(REPOSITORY)
        for name in page_blocks.blocks(path.read_text())
    }
    assert found == {name: table.page for name, table in write_tables.TABLES.items()}


def test_kept_results_are_those_of_the_listed_measurements() -> None:
    files = {path.stem for path in kept_results.FOLDER.iterdir()}
    assert files == set(write_tables.MEASUREMENTS)
    assert files == {name for table in write_tables.TABLES.values() for name in table.results}


def test_answers_are_those_of_the_calibration_that_is_asked_now() -> None:
    asked = toml_model.load(
        Calibration, (REPOSITORY / calibrations.CALIBRATION).read_text(), calibrations.CALIBRATION
    )
    kept = kept_results.read("facts")
    choices = [choice.name for hypothesis in asked.hypothesis for choice in hypothesis.choice]
    assert [answer["choice"] for answer in kept["answers"]] == choices
    left_out = {fold["left_out"] for fold in kept["folds"]}
    # Points of pkt-rate chose nothing, so that none can be left out.
    choosing = set(asked.experiments) - {"pkt-rate"}
    assert {f"experiment = {name}" for name in choosing} <= left_out


def test_errors_are_of_the_experiments_and_numbers_that_are_compared_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(REPOSITORY)
    kept = kept_results.read("fidelity")["experiments"]
    assert list(kept) == accuracy.EXPERIMENTS
    by_name = {name: catalogue.find(name) for name in kept}
    for name, verdicts in kept.items():
        # What has been put in at all points is not judged.
        checks = [
            check for check in by_name[name].experiment.check if _compared(by_name[name], check)
        ]
        assert [verdict["name"] for verdict in verdicts] == [check.name for check in checks]
        for check, verdict in zip(checks, verdicts, strict=True):
            assert (verdict["text"], verdict["at_most"]) == (check.text, check.at_most)
            # A rate that was put in is compared where the simulated one is less.
            least, most = _compared(by_name[name], check), _measured(by_name[name], check)
            assert least <= verdict["numbers"] <= most, (name, check.name)


def _measured(entry: Entry, check: Any) -> int:
    """Count the measured numbers that a check is about."""
    below = float("inf") if check.measured_below is None else check.measured_below
    return sum(
        point.measured[metric].mean < below
        for point in points(entry)
        if not point.null
        for metric in check.metrics
        if metric in point.measured
    )


def _compared(entry: Entry, check: Any) -> int:
    """Count the measured numbers that a check is about, without those that are put in."""
    below = float("inf") if check.measured_below is None else check.measured_below
    bounds = {metric.name: metric.bounded_by for metric in entry.experiment.metric}
    return sum(
        point.measured[metric].mean < below
        and not _is_put_in(point.measured[metric].mean, point.settings.get(bounds[metric] or ""))
        for point in points(entry)
        if not point.null
        for metric in check.metrics
        if metric in point.measured
    )


def _is_put_in(measured: float, bound: object) -> bool:
    return isinstance(bound, int | float) and measured >= 0.99 * bound


def test_figures_of_a_dsa_are_of_the_command_lines_that_are_listed_now() -> None:
    kept = kept_results.read("dsa-figures")["lines"]
    lines = [(line.figure, line.options) for line in dsa_figures.LINES]
    assert [(line["figure"], line["options"]) for line in kept] == lines
    for line in kept:
        if "faster_from_bytes" not in line["results"][0]:
            words = line["options"].split()
            sizes = words[words.index("-s") + 1].split(",")
            assert len(line["results"]) % len(sizes) == 0, line["options"]


def test_benchmarks_are_of_the_members_that_are_measured_now() -> None:
    found = kept_results.read("peers")["simulators"]
    assert [(one["name"], one["models"]) for one in found] == peers.SIMULATORS
    assert all(list(one["rates"]) == list(STANDARD_TRACES) for one in found)
    started = kept_results.read("start")
    assert (list(started["medians_ms"]), list(started["runs"])) == (start.names(), start.RUNS)
    commands = [command.text for command in durations.COMMANDS]
    assert list(kept_results.read("durations")["seconds"]) == commands


def test_scaling_is_of_the_machines_that_are_measured_now(tmp_path: Any) -> None:
    kept = kept_results.read("scaling")
    families = scaling.families(tmp_path)
    assert {name: list(one) for name, one in kept["ratios"].items()} == {
        name: list(members) for name, members in families.items()
    }
    assert kept["independent"] == scaling.INDEPENDENT


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _numbers(inner)
    elif isinstance(value, float):
        yield value


@pytest.mark.parametrize("name", write_tables.MEASUREMENTS)
def test_results_are_kept_with_the_command_and_in_few_digits(name: str) -> None:
    kept = kept_results.read(name)
    assert kept["command"]
    assert all(kept_results.rounded(number) == number for number in _numbers(kept))


def test_only_the_block_of_a_table_is_replaced() -> None:
    assert page_blocks.blocks(PAGE) == {"mine": "\n| a |\n\n", "b": "\nc\n\n"}
    again = page_blocks.replace(PAGE, "mine", "| 1 |")
    assert again == PAGE.replace("| a |", "| 1 |")
    with pytest.raises(ValueError, match="no block 'gone'"):
        page_blocks.replace(PAGE, "gone", "")


def test_a_table_in_markdown_has_a_line_below_its_header() -> None:
    assert page_blocks.table(["a", "b"], [["1", ""]]) == "| a | b |\n| --- | --- |\n| 1 | |"


def test_a_sample_of_lines_leaves_packets_and_dram_that_each_line_reserves() -> None:
    parts = {
        "DRAM": 40.0,
        "tags": 40.0,
        "devices: NIC": 10.0,
        "software: drivers": 5.0,
        "schedule of agents": 3.0,
        "libraries: histograms": 2.0,
    }
    lines = performance.sampled({"scenarios": {"one": {"parts": parts}}}).splitlines()
    counts = [line for line in lines if "n = 8" in line and "instructions" in line]
    # 20 of packets, and an eighth of 80 of lines; or 40 more for DRAM, and an eighth of 40.
    assert [count.split("|")[2].strip() for count in counts] == ["30", "65"]
    ratios = [line for line in lines if "n = 8" in line and "times as fast" in line]
    assert [ratio.split("|")[2].strip() for ratio in ratios] == ["3.3", "1.5"]
