"""Does the documentation site build, complete and from the disk alone?"""

import json
import re
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support import expected_conditions
from selenium.webdriver.support.ui import WebDriverWait

from browser_window import DESK, show
from flow.explorer_page import one_file

exceptions = pytest.importorskip("mkdocs.exceptions", reason="make docs-tools installs MkDocs")
build_site = pytest.importorskip("build_site")
SEARCH_LIMIT_S = 60
# Building the site takes half a minute; links and words of pages have quick tests of their own.
pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def staged(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stage the pages once."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKIPLINE_HOST", str(binaries / "skipline-host"))
        build_site.stage(folder / "pages")
    return folder / "pages"


@pytest.fixture(scope="module")
def html(staged: Path) -> Path:
    """Build the site once."""
    first: Path = build_site.render(staged.parent)
    return first.parent


def test_the_references_name_commands_options_keys_and_metrics(html: Path) -> None:
    reference = html / "docs" / "reference"
    commands = (reference / "commands.html").read_text()
    assert all(f'id="skipline-{name}"' in commands for name in ("run", "experiment-run", "schema"))
    assert "--trace-packet N" in commands
    host = (reference / "host-commands.html").read_text()
    assert all(f'id="skipline-host-{name}"' in host for name in ("tune", "slices-map"))
    keys = (reference / "scenario-keys.html").read_text()
    assert "<code>ddio_ways</code>" in keys
    assert 'id="traffic"' in keys
    metrics = (reference / "metrics.html").read_text()
    assert "<code>pcie_write_hit_rate</code>" in metrics


def test_a_notebook_is_a_page_with_what_its_cells_show(html: Path) -> None:
    page = html / "docs" / "tutorials" / "first-half-hour.html"
    text = page.read_text()
    assert "pcie_write_hit_rate" in text and "<svg" in text and "did you mean" in text
    assert page.with_suffix(".ipynb").exists()
    linked = (html / "docs" / "how-to" / "python.html").read_text()
    assert 'href="../tutorials/first-half-hour.html"' in linked


def test_every_page_is_found_by_search(staged: Path, html: Path) -> None:
    index = json.loads((html / "search" / "search_index.json").read_text())
    found = {entry["location"].split("#")[0] or "index.html" for entry in index["docs"]}
    pages = (str(page.relative_to(staged)) for page in staged.rglob("*.md"))
    expected = {page.replace("README", "index").replace(".md", ".html") for page in pages}
    assert expected <= found


def test_the_explorers_page_is_beside_the_pages(html: Path) -> None:
    built = one_file()
    assert (html / "explorer" / built.name).read_bytes() == built.read_bytes()


def test_search_works_from_the_disk(html: Path, browser: webdriver.Chrome) -> None:
    # A narrow window hides the field behind a button.
    show(browser, html / "docs" / "how-to" / "platforms.html", DESK)
    wait = WebDriverWait(browser, SEARCH_LIMIT_S)
    field = (By.CSS_SELECTOR, "input.md-search__input")
    wait.until(expected_conditions.element_to_be_clickable(field)).send_keys("doorbell")
    wait.until(lambda _: "Glossary" in _found(browser))


def _found(browser: webdriver.Chrome) -> str:
    results = browser.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
    return " ".join(result.text for result in results)


def test_nothing_is_fetched_from_elsewhere(html: Path) -> None:
    fetched = re.compile(r"<(?:script|img|link)\b[^>]*(?:src|href)=\"?(https?://[^\s\">]+)")
    for page in html.rglob("*.html"):
        assert fetched.findall(page.read_text()) == [], page


@pytest.mark.parametrize("link", ["gone.md", "README.md#no-such-heading", "/absolute.md"])
def test_a_link_to_nowhere_fails_the_build(staged: Path, tmp_path: Path, link: str) -> None:
    shutil.copytree(staged, tmp_path / "pages")
    with (tmp_path / "pages" / "CHANGELOG.md").open("a") as changes:
        changes.write(f"\n[broken]({link})\n")
    with pytest.raises(exceptions.Abort, match="1 warning"):
        build_site.render(tmp_path)
