"""Is the documentation wrapped, and do its links lead somewhere?"""

from pathlib import Path

import pytest

import markdown_files

REPOSITORY = Path(__file__).parents[2]
WIDE = "x" * 60 + " " + "y" * 60
FILES = markdown_files.files(REPOSITORY)
WINGS = [
    path.relative_to(REPOSITORY) for path in FILES if path.is_relative_to(REPOSITORY / "crates")
]


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


@pytest.mark.parametrize("guide", ["ARCHITECTURE.md", "CONTRIBUTING.md", *map(str, WINGS)])
def test_paths_that_a_guide_names_are_there(guide: str) -> None:
    assert markdown_files.missing_paths(REPOSITORY, (REPOSITORY / guide).read_text()) == []


@pytest.mark.parametrize("guide", ["ARCHITECTURE.md", *map(str, WINGS)])
def test_sources_that_a_table_names_are_below_its_folder(guide: str) -> None:
    path = REPOSITORY / guide
    assert markdown_files.lost_files(path.parent, path.read_text()) == []


def test_every_wing_has_a_table_with_each_of_its_crates() -> None:
    for wing in (path for path in (REPOSITORY / "crates").iterdir() if path.is_dir()):
        text = (wing / "README.md").read_text()
        crates = sorted(manifest.parent.name for manifest in wing.glob("*/Cargo.toml"))
        assert [crate for crate in crates if f"\n| `{crate}` " not in text] == []


def test_a_source_that_moved_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.rs").touch()
    text = "| the line is about | it is in |\n| a | `there.rs`, `gone.rs` |\n"
    below = (
        "| the line is about | it is below `crates/base/units/src` |\n| a | `cache.rs`, `b.rs` |\n"
    )
    assert markdown_files.lost_files(tmp_path, text + below) == ["gone.rs", "b.rs"]


def test_a_path_to_nowhere_is_found() -> None:
    names = "`docs/how-to/{host,gone}.md`, `docs/how-to/NAME.md`"
    text = f"`tests/flow/`, `tests/NOTHING/gone.md`, {names}, `make x`"
    assert markdown_files.missing_paths(REPOSITORY, text) == [
        "tests/NOTHING/gone.md",
        "docs/how-to/gone.md",
    ]
