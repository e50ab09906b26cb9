"""Pages have the parts that readers need, in their order, and can be read by everyone."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Skipline
from page_structure import Structure, structure
from skipline.experiment import outcome
from skipline.report import answers, palette, run_answer, run_page
from skipline.report.palette import Colour
from skipline.runs import result
from skipline.runs.run_command import RESULT_FILE
from small_experiment import CLAIMS, write_small_evidence

# WCAG AA: the least contrast of text, and of marks and controls.
TEXT_CONTRAST, MARK_CONTRAST = 4.5, 3.0
# What figures write numbers on, in the colour of the paper.
LABELLED = ("predicted", "fails", "category-1", "category-3", "category-6")


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of evidence.html and of the experiment two-rings."""
    directory = tmp_path_factory.mktemp("reports")
    write_small_evidence(directory)
    done = Skipline(directory)("evidence", "--experiments", "evidence")
    assert done.code == 0, done.err
    return directory / "reports"


@pytest.fixture
def stored(short_run: Path) -> result.Result:
    return result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)


@pytest.fixture(params=["run", "experiment", "evidence"])
def page(request: pytest.FixtureRequest, reports: Path, short_run: Path) -> Structure:
    """A page of each kind."""
    if request.param == "run":
        of = result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)
        return structure(run_page.page(of))
    name = {"experiment": "two-rings/report.html", "evidence": "evidence.html"}[request.param]
    return structure((reports / name).read_text())


def test_the_answer_is_below_the_title_and_the_figure_before_the_tiles(page: Structure) -> None:
    wanted = ["h1", "answer", "figure", "cards", "table"]
    positions = [page.position(name) for name in wanted]
    assert positions == sorted(positions)


def test_each_figure_and_each_table_has_a_numbered_caption(page: Structure) -> None:
    for tag, caption, word in (("figure", "figcaption", "Figure"), ("table", "caption", "Table")):
        texts = [element.text for element in page.of_tag(caption)]
        assert len(texts) == len(page.of_tag(tag)) > 0
        for number, text in enumerate(texts, start=1):
            assert re.fullmatch(rf"{word} {number}\. .*\w.*\.", text), text


def test_captions_of_figures_name_axes_and_where_numbers_come_from(page: Structure) -> None:
    for caption in page.of_tag("figcaption"):
        assert "orizontal" in caption.text
        assert re.search("[Ss]imulated|claims below", caption.text)


def test_charts_have_a_name_and_their_caption_as_description(page: Structure) -> None:
    identifiers = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(identifiers) == len(set(identifiers))
    charts = [element for element in page.elements if "data-chart" in element.attributes]
    assert charts
    for chart in charts:
        assert chart.attributes["role"] == "img"
        assert chart.attributes["aria-label"]
        assert chart.attributes["aria-describedby"] in identifiers


def test_links_within_a_page_lead_somewhere(page: Structure) -> None:
    identifiers = {e.attributes.get("id") for e in page.elements}
    targets = [e.attributes["href"] for e in page.of_tag("a")]
    assert {target[1:] for target in targets if target.startswith("#")} <= identifiers


def test_pages_load_nothing(page: Structure) -> None:
    for element in page.elements:
        assert "src" not in element.attributes
        if element.tag == "link":
            assert element.attributes["href"] == "data:,"


def test_an_experiment_answers_with_claims_and_error(reports: Path) -> None:
    found = outcome.read(reports / "two-rings")
    assert answers.of_experiment(found).startswith(
        "1 of 2 claims hold, x-02 fails; hits: mean absolute error is "
    )
    assert answers.of_experiment(found).endswith(
        "over 1 predicted number, within the limit of 100."
    )


def test_evidence_answers_with_claims_by_source(reports: Path) -> None:
    page = structure((reports / "evidence.html").read_text())
    answer = page.elements[page.position("answer")].text
    assert answer == (
        "0 of 2 judged claims hold (made up 0 of 2, another 0 of 0); 1 is weak; 1 fails; "
        "2 are not judged here."
    )


def test_an_experiment_beyond_a_source_is_shown_as_new(tmp_path: Path) -> None:
    write_small_evidence(tmp_path)
    folder = tmp_path / "evidence"
    experiment = folder / "two-rings.toml"
    text = experiment.read_text().replace(CLAIMS, "")
    experiment.write_text(text.replace("source =", 'beyond = "made up"\nsource =', 1))
    shown = "".join(
        f'[[claim]]\nid = "{claim}"\ntest = ["tests/test_shown.py::test_it_is_shown"]\n'
        for claim in ("x-01", "x-02")
    )
    (folder / "tests.toml").write_text((folder / "tests.toml").read_text() + shown)
    done = Skipline(tmp_path)("evidence", "--experiments", "evidence", "--source", "made up")
    assert done.code == 0, done.err
    page = (tmp_path / "reports" / "evidence-made up.html").read_text()
    assert "New: Two rings" in page
    assert "no publication states what comes out" in page


def test_an_old_result_is_answered_by_its_loads_and_losses(stored: result.Result) -> None:
    stored.answer = ""
    loads = {"offered_gbps": 100.0, "throughput_gbps": 75.0}
    for name, value in loads.items():
        stored.metrics[name] = result.Metric(value=value, unit="Gbit/s")
    for name, count in {"rx_packets": 75, "rx_dropped": 25}.items():
        stored.metrics[name] = result.Metric(value=count, unit="packets")
    stored.metrics["latency_ns"] = result.Metric(value={"p99": 1500}, unit="ns")
    assert run_answer.of_run(stored) == (
        "Of the 100.0 Gbit/s offered, 75.00 Gbit/s leave again. 25.00 % of the packets are "
        "dropped. 99 % take at most 1,500 ns."
    )


def test_the_answer_of_a_result_is_preferred(stored: result.Result) -> None:
    told = replace(stored, answer="It fits.")
    assert run_answer.of_run(told) == "It fits."


def test_what_fails_is_the_main_number_of_claims_without_measured_points(reports: Path) -> None:
    found = outcome.read(reports / "two-rings")
    judged = outcome.Outcome(found.summary.model_copy(update={"verdicts": []}), found.table)
    assert "; x-02, hits at 512 are zero: " in answers.of_experiment(judged)


def settings_of(changed: result.Result) -> tuple[list[str], list[str]]:
    """Return the rows of the first two tables on a run's page."""
    rows = [e for e in structure(run_page.page(changed)).elements if e.tag in ("table", "tr")]
    tables: list[list[str]] = []
    for row in rows:
        if row.tag == "table":
            tables.append([])
        else:
            tables[-1].append(row.text)
    return tables[0], tables[1]


def scenario_of(stored: result.Result, **changes: object) -> result.Result:
    scenario: dict[str, Any] = {**stored.scenario, **changes}
    return replace(stored, scenario=scenario)


def test_settings_that_differ_from_the_defaults_come_first(stored: result.Result) -> None:
    # Of this platform: the schema knows no number for ddio_ways.
    usual, other = (settings_of(scenario_of(stored, ddio_ways=ways))[0] for ways in (2, 3))
    assert not any(row.startswith("ddio_ways") for row in usual)
    assert any(row.startswith("ddio_ways32Ways") for row in other)
    assert len(other) < 20


def test_replaced_facts_are_beside_the_platforms_and_notes_above_them(
    stored: result.Result,
) -> None:
    changed = scenario_of(stored, hardware={"llc": {"ways": 16}})
    changed = replace(changed, notes=["What the file states has no effect"])
    assert settings_of(changed)[1][1] == "llc.ways1611"
    page = run_page.page(changed)
    assert page.count("What the file states has no effect.") == 1


def test_an_unknown_platform_leaves_the_defaults_of_all(stored: result.Result) -> None:
    rows, _ = settings_of(scenario_of(stored, platform="elsewhere/mine.toml", cores=7))
    assert any(row.startswith("cores71") for row in rows)


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("mode", Colour._fields)
def test_colours_can_be_told_from_their_ground(mode: str) -> None:
    def of(colour: Colour) -> str:
        return str(getattr(colour, mode))

    for ground in palette.GROUNDS.values():
        for name, colour in palette.TEXTS.items():
            assert contrast(of(colour), of(ground)) >= TEXT_CONTRAST, (name, mode)
        for name, colour in palette.MARKS.items():
            assert contrast(of(colour), of(ground)) >= MARK_CONTRAST, (name, mode)
    for name in LABELLED:
        written = of(palette.GROUNDS["paper"])
        assert contrast(written, of(palette.MARKS[name])) >= TEXT_CONTRAST, (name, mode)
