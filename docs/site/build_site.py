"""Build the documentation site: stage the pages, generate the references, run MkDocs strictly.

The pages are the Markdown files of the repository in their own folders, with the files that they
link to. Notebooks are run, and become pages beside them. What has a reference in the code is
generated: commands, commands of skipline-host, scenario keys, metrics.
"""

import logging
import re
import shutil
import sys
from pathlib import Path

from mkdocs.commands import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

import command_reference
import key_reference
import metric_reference
import notebook_page

REPOSITORY = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
# The page that `make web` builds; `make docs` has it built before.
EXPLORER = REPOSITORY / "python" / "skipline" / "explorer" / "page"
_LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")
_FOLDERS = ("crates", "docs", "fuzz", "native")


def pages() -> list[Path]:
    """Return the Markdown files of the site."""
    inside = (path for folder in _FOLDERS for path in (REPOSITORY / folder).rglob("*.md"))
    return sorted([*REPOSITORY.glob("*.md"), *inside])


def notebooks() -> list[Path]:
    """Return the notebooks of the site."""
    return sorted((REPOSITORY / "docs").rglob("*.ipynb"))


def stage(target: Path) -> None:
    """Copy the pages and the files that they link to, and generate the references."""
    shutil.rmtree(target, ignore_errors=True)
    for page in pages():
        text = page.read_text(encoding="utf-8")
        staged = _copy(page, target)
        # On the site a notebook has a page.
        staged.write_text(text.replace(".ipynb)", ".md)"), encoding="utf-8")
        for link in _LINK.findall(text):
            linked = (page.parent / link).resolve()
            if linked.is_file() and linked.suffix != ".md":
                _copy(linked, target)
    for notebook in notebooks():
        page = _copy(notebook, target).with_suffix(".md")
        page.write_text(notebook_page.page(notebook), encoding="utf-8")
    for asset in ("site.css", "iframe-worker.js"):
        shutil.copy(HERE / asset, target)
    references = target / "docs" / "reference"
    references.mkdir(parents=True, exist_ok=True)
    for name, text in {
        "commands.md": command_reference.commands(),
        "host-commands.md": command_reference.host_commands(),
        "scenario-keys.md": key_reference.scenario_keys(),
        "metrics.md": metric_reference.metric_table(),
    }.items():
        (references / name).write_text(text, encoding="utf-8")


def _copy(path: Path, target: Path) -> Path:
    copy = target / path.relative_to(REPOSITORY)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)
    return copy


def render(folder: Path) -> Path:
    """Turn the staged pages into HTML; return the first page. Warnings are errors."""
    config = load_config(
        str(HERE / "mkdocs.yml"),
        docs_dir=str(folder / "pages"),
        site_dir=str(folder / "html"),
    )
    build.build(config)
    if EXPLORER.is_dir():
        shutil.copytree(EXPLORER, folder / "html" / "explorer", dirs_exist_ok=True)
    return folder / "html" / "index.html"


def main(arguments: list[str]) -> int:
    """Build into the named folder, or into `site`; print the first page."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    folder = Path(arguments[0]).resolve() if arguments else REPOSITORY / "site"
    try:
        stage(folder / "pages")
        first = render(folder)
    except Abort as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"Documentation to open in a browser:\n  {first}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
