"""Does each question lead to one page, and are pages short enough to be read?

The map of the documents is docs/README.md. Words are counted as `wc -w` counts them.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

import markdown_files
from command_line import REPOSITORY

DOCS = REPOSITORY / "docs"
MAP = DOCS / "README.md"
GLOSSARY = DOCS / "reference/glossary.md"
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
MOST_WORDS_OF_README = 1200
MOST_WORDS_OF_HOW_TO = 1500
FEWEST_QUESTIONS = 40
FEWEST_TERMS = 100
MOST_LINES_OF_CHANGES = 10
_QUESTION = re.compile(r"^\| (?P<question>[^|]+\?) \| (?P<page>[^|]+) \|$", re.M)
_TERM = re.compile(r'^\| (?P<anchors>(?:<a id="[^"]+"></a>)*)(?P<term>[^|<]+) \|', re.M)


def questions(text: str) -> dict[str, list[str]]:
    """Return the questions of a map and the pages that each leads to."""
    return {
        found["question"]: markdown_files.links(found["page"]) for found in _QUESTION.finditer(text)
    }


def reachable(first: Path) -> set[Path]:
    """Return the Markdown files that links lead to, from one file on."""
    found, left = {first.resolve()}, [first.resolve()]
    while left:
        page = left.pop()
        for link in markdown_files.links(page.read_text()):
            file = markdown_files.linked_file(page, link)
            if file.suffix == ".md" and file.exists() and file not in found:
                found.add(file)
                left.append(file)
    return found


def test_each_question_leads_to_one_page_that_exists() -> None:
    asked = questions(MAP.read_text())
    assert len(asked) >= FEWEST_QUESTIONS
    assert [question for question, pages in asked.items() if len(pages) != 1] == []
    pages = [page for (page,) in asked.values()]
    assert [page for page in pages if not (DOCS / page).is_file()] == []
    assert [page for page, count in Counter(pages).items() if count > 1] == []


def test_every_page_is_an_answer_of_the_map() -> None:
    answers = {
        (DOCS / page).resolve() for pages in questions(MAP.read_text()).values() for page in pages
    }
    written = {path for path in DOCS.rglob("*") if path.suffix in (".md", ".ipynb")}
    assert sorted(written - answers - {MAP}) == []


def test_every_document_is_reached_from_the_map() -> None:
    documents = {
        *REPOSITORY.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(REPOSITORY / "native").rglob("*.md"),
    }
    assert sorted(documents - reachable(MAP)) == []


@pytest.mark.parametrize("path", HOW_TO, ids=lambda path: path.stem)
def test_a_how_to_page_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text().split()) <= MOST_WORDS_OF_HOW_TO


def test_the_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().split()) <= MOST_WORDS_OF_README


def test_changes_of_a_version_are_ten_lines_a_section() -> None:
    version = (REPOSITORY / "CHANGELOG.md").read_text().split("\n## ")[1]
    sections = {
        section.splitlines()[0]: [line for line in section.splitlines()[1:] if line]
        for section in version.split("\n### ")[1:]
    }
    assert len(sections) > 1
    longest = {name: len(lines) for name, lines in sections.items()}
    assert {name: n for name, n in longest.items() if n > MOST_LINES_OF_CHANGES} == {}


def test_each_term_of_the_glossary_has_an_anchor_and_is_defined_once() -> None:
    text = GLOSSARY.read_text()
    rows = [row for row in _TERM.finditer(text) if row["term"] not in ("term", "---")]
    assert len(rows) >= FEWEST_TERMS
    assert [row["term"] for row in rows if not row["anchors"]] == []
    terms = Counter(term.strip() for row in rows for term in row["term"].split(","))
    assert [term for term, count in terms.items() if count > 1] == []
    ids = Counter(markdown_files.anchors(text))
    assert [identifier for identifier, count in ids.items() if count > 1] == []


def test_questions_are_found_in_the_tables_of_a_map() -> None:
    text = (
        "| question | page |\n| --- | --- |\n| Why? | [a](a.md) [b](b.md) |\n| no | [c](c.md) |\n"
    )
    assert questions(text) == {"Why?": ["a.md", "b.md"]}


def test_pages_are_reached_over_links(tmp_path: Path) -> None:
    for name, text in {"a": "[b](b.md)", "b": "[a](a.md#x) [gone](gone.md)", "c": ""}.items():
        (tmp_path / f"{name}.md").write_text(text)
    names = {path.name for path in reachable(tmp_path / "a.md")}
    assert names == {"a.md", "b.md"}
