"""Manual pages of `skipline`: one for each command, whole, and as man takes them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("click_man", reason="make docs-tools installs click-man")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the pages by name."""
    directory = tmp_path_factory.mktemp("man")
    script = ROOT / "packaging" / "skipline_manuals.py"
    subprocess.run([sys.executable, script, directory], check=True, stdout=subprocess.DEVNULL)
    return {page.stem: page for page in directory.iterdir()}


def _shown(page: Path) -> tuple[str, str]:
    """What man shows of a page, and what it complains about."""
    if shutil.which("man") is None:
        pytest.skip("man is not installed: package man-db")
    command = ["man", "--warnings", "-l", str(page)]
    environment = {**os.environ, "MANWIDTH": "300", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c"}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return ended.stdout, ended.stderr


def test_each_command_has_a_page_but_those_of_the_binary(pages: dict[str, Path]) -> None:
    """The binary brings pages of the same names, which must not be written over."""
    assert {"skipline", "skipline-run", "skipline-examples-copy"} <= pages.keys()
    assert "skipline-host-compare" in pages
    assert not {"skipline-host", "skipline-host-status"} & pages.keys()


def test_man_shows_options_and_examples_without_complaint(pages: dict[str, Path]) -> None:
    """Examples are there to be copied: each is a line of its own, as it is typed."""
    from skipline.cli import app

    for page in pages.values():
        shown, complaints = _shown(page)
        assert not complaints, page.name
        # Names of commands may have a hyphen, too.
        heading = shown.splitlines()[0].partition("(")[0].replace(" ", "-")
        assert heading == page.stem.upper(), page.name
    shown, _ = _shown(pages["skipline"])
    lines = {line.strip() for line in shown.splitlines()}
    assert {line for example in app.examples for line in example.splitlines()} <= lines
    assert "--explain" in _shown(pages["skipline-run"])[0]
