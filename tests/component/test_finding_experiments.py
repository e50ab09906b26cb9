"""Are experiments found by the words of those who look for a figure?"""

import pytest

from skipline.experiment import catalogue, finding

ENTRIES = catalogue.entries()


def found(words: str) -> set[str]:
    return {entry.identifier for entry in finding.matching(ENTRIES, words)}


@pytest.mark.parametrize(
    "words",
    ["figure 10 of ATC'20", "atc20 fig. 10", "Figure 10 atc\u201920", "fig 10 usenix atc"],
)
def test_a_figure_of_a_source_is_found_however_it_is_written(words: str) -> None:
    assert {"cores", "haswell"} <= found(words)
    assert "instances" not in found(words)  # figure 10 of ASPLOS'24


def test_a_figure_of_all_sources_and_a_number_that_is_none() -> None:
    assert {"cores", "instances"} <= found("figure 10")
    assert "chain" not in found("figure 10") and "chain" in found("figure 12")
    assert "pktsize-desc" not in found("figure 10")  # 1024 descriptors are no figure


def test_words_of_the_question_are_found_together() -> None:
    several = found("virtual switch")
    assert several and several < {entry.identifier for entry in ENTRIES}
    assert found("virtual switch nosuchword") == set()


def test_sources_are_short() -> None:
    by_name = {entry.identifier: finding.short_source(entry) for entry in ENTRIES}
    assert by_name["cores"] == "ATC'20, figure 10"
    assert by_name["instances"] == "ASPLOS'24, figure 10"
    assert all(by_name.values())
