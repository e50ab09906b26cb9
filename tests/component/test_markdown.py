"""Is the documentation wrapped, and do its links lead somewhere?"""

from pathlib import Path

import pytest

import markdown_files

REPOSITORY = Path(__file__).parents[2]
WIDE = "x" * 60 + " " + "y" * 60
FILES = markdown_files.files(REPOSITORY)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_markdown_is_wrapped_and_its_links_lead_to_files(path: Path) -> None:
    assert markdown_files.overlong(path.read_text()) == []
    assert markdown_files.broken_links(path) == []
    assert markdown_files.broken_anchors(path) == []


def test_the_documents_that_a_reader_begins_with_are_among_the_files() -> None:
    names = {str(path.relative_to(REPOSITORY)) for path in FILES}
    assert names >= {"README.md", "docs/README.md", "ARCHITECTURE.md", "native/dpdk/README.md"}


def test_only_prose_has_to_be_wrapped() -> None:
    link = f"[a]({'z' * 120})"
    lines = (WIDE, "", f"- {WIDE}", "```", WIDE, "```", f"| {WIDE} |", "", f"    {WIDE}", link)
    assert markdown_files.overlong("\n".join(lines)) == [1, 3]


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[here](page.md#part) [there](gone.md)\n[web](https://a.org) [up](#part)\n")
    assert markdown_files.broken_links(page) == ["gone.md"]


def test_a_link_to_an_anchor_that_is_gone_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text('# The `run`, [once](a.md)\n| <a id="way"></a>way |\n')
    assert markdown_files.anchors(page.read_text()) == ["the-run-once", "way"]
    page.write_text(page.read_text() + "[a](#the-run-once) [b](page.md#way) [c](page.md#gone)\n")
    assert markdown_files.broken_anchors(page) == ["page.md#gone"]


@pytest.mark.parametrize("guide", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_paths_that_a_guide_names_are_there(guide: str) -> None:
    assert markdown_files.missing_paths(REPOSITORY, (REPOSITORY / guide).read_text()) == []


def test_a_path_to_nowhere_is_found() -> None:
    names = "`docs/how-to/{host,gone}.md`, `docs/how-to/NAME.md`"
    text = f"`tests/flow/`, `tests/NOTHING/gone.md`, {names}, `make x`"
    assert markdown_files.missing_paths(REPOSITORY, text) == [
        "tests/NOTHING/gone.md",
        "docs/how-to/gone.md",
    ]
