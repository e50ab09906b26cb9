"""Does the documentation site build, complete and from the disk alone?"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from command_line import REPOSITORY

exceptions = pytest.importorskip("mkdocs.exceptions", reason="make docs-tools installs MkDocs")
build_site = pytest.importorskip("build_site")


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stage the pages once."""
    command = ["cargo", "build", "--quiet", "--locked", "--profile=test", "-phost-cli"]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    built = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug"
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKIPLINE_HOST", str(built / "skipline-host"))
        build_site.stage(folder / "pages")
    return folder / "pages"


@pytest.fixture(scope="module")
def html(staged: Path) -> Path:
    """Build the site once."""
    first: Path = build_site.render(staged.parent)
    return first.parent


def test_the_references_name_commands_keys_and_options(html: Path) -> None:
    reference = html / "docs" / "reference"
    commands = (reference / "commands.html").read_text()
    assert all(f'id="skipline-{name}"' in commands for name in ("run", "experiment-run", "schema"))
    assert "--trace-packet N" in commands
    host = (reference / "host-commands.html").read_text()
    assert all(f'id="skipline-host-{name}"' in host for name in ("tune", "slices-map"))
    keys = (reference / "scenario-keys.html").read_text()
    assert "<code>ddio_ways</code>" in keys
    assert 'id="traffic"' in keys


def test_every_page_is_found_by_search(staged: Path, html: Path) -> None:
    index = json.loads((html / "search" / "search_index.json").read_text())
    found = {entry["location"].split("#")[0] or "index.html" for entry in index["docs"]}
    pages = (str(page.relative_to(staged)) for page in staged.rglob("*.md"))
    expected = {page.replace("README", "index").replace(".md", ".html") for page in pages}
    assert expected <= found


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
