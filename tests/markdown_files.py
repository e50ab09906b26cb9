"""How the Markdown of the repository is kept: wrapped, and with links that lead somewhere."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

COLUMNS = 100
REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("benches", "crates", "docs", "experiments", "fuzz", "native", "python", "tests")
_FENCE = re.compile(r"\s*(```+|~~~+)")
# A path below a folder of the repository; what a reader writes there is `<source>` or a name.
_PATH = re.compile(
    rf"`((?:{'|'.join((*FOLDERS, 'devices', 'examples', 'platforms', 'software'))})/[^`<>:\s]*)`"
)
_SOURCE = re.compile(r"`([\w/]+\.(?:rs|py|toml))`")
_FOLDER = re.compile(r"`(crates/[\w/-]+)/?`")
_TABLE_HEAD = re.compile(r"\| it is below `([^`]+)` \|")
_CAPITALS = re.compile(r"[A-Z]{4,}")
_LINK = re.compile(r"(?<=\])\(([^)\s]+)\)")
_HEADING = re.compile(r"#+ (.*)")
_IDENTIFIER = re.compile(r'<a id="([^"]+)">')


def files(repository: Path) -> list[Path]:
    """Return the Markdown files that belong to the repository."""
    inside = (path for folder in FOLDERS for path in (repository / folder).rglob("*.md"))
    kept = (path for path in inside if "target" not in path.parts and "build" not in path.parts)
    return sorted([*repository.glob("*.md"), *kept])


def prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield numbered lines outside of code blocks."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
        elif not line.startswith("    "):
            yield number, line


def overlong(text: str) -> list[int]:
    """Return the lines beyond the limit; tables and the targets of links do not count."""
    return [
        number
        for number, line in prose(text)
        if not line.lstrip().startswith("|") and len(_LINK.sub("", line)) > COLUMNS
    ]


def missing_paths(repository: Path, text: str) -> list[str]:
    """Return the paths of the repository that a text names in code and that are not there.

    KIND, NAME and other words in capitals stand for anything, `{a,b}` for a and for b.
    """
    named = (path for _, line in prose(text) for path in _PATH.findall(line))
    each = (path.rstrip("/") for pattern in named for path in _alternatives(pattern))
    return [path for path in each if not any(repository.glob(_CAPITALS.sub("*", path)))]


def lost_files(folder: Path, text: str) -> list[str]:
    """Return the sources that rows of a table name and that are not below the table's folder.

    The head of a table names its folder, `| the line is about | it is below `crates/base` |`; a
    table without one is about `folder`. A row may name further folders, and whole paths. NAME and
    other words in capitals stand for anything.
    """
    below, lost = folder, []
    for _, line in prose(text):
        if head := _TABLE_HEAD.search(line):
            below = REPOSITORY / head[1]
        elif line.startswith("| the line is about"):
            below = folder
        elif line.startswith("|"):
            names = [_CAPITALS.sub("*", name) for name in _SOURCE.findall(line)]
            places = [below, *(REPOSITORY / name for name in _FOLDER.findall(line))]
            lost += [name for name in names if not _is_there(places, name)]
    return lost


def _is_there(folders: Iterable[Path], name: str) -> bool:
    whole = any(REPOSITORY.glob(name)) if "/" in name else False
    return whole or any(path for folder in folders for path in folder.glob(f"**/{name}"))


def _alternatives(pattern: str) -> list[str]:
    braces = re.search(r"\{(.*?)\}", pattern)
    if not braces:
        return [pattern]
    return [pattern.replace(braces[0], choice) for choice in braces[1].split(",")]


def links(text: str) -> list[str]:
    """Return the targets of the relative links of a text, with their anchors."""
    targets = (link for _, line in prose(text) for link in _LINK.findall(line))
    return [link for link in targets if not re.match(r"[a-z]+:", link)]


def linked_file(path: Path, link: str) -> Path:
    """Return the file that a link of the file at `path` leads to."""
    target = link.split("#", maxsplit=1)[0]
    return (path.parent / target).resolve() if target else path.resolve()


def broken_links(path: Path) -> list[str]:
    """Return the relative links of a file that lead to no file."""
    local = links(path.read_text())
    return [link for link in local if not linked_file(path, link).exists()]


def anchors(text: str) -> list[str]:
    """Return the anchors of a text: those of its headings, as the site makes them, and `id`s."""
    found = []
    for _, line in prose(text):
        if heading := _HEADING.match(line):
            words = _LINK.sub("", heading[1]).replace("[", "").replace("]", "")
            found.append(re.sub(r"[^\w\- ]", "", words).strip().lower().replace(" ", "-"))
        found += _IDENTIFIER.findall(line)
    return found


def broken_anchors(path: Path) -> list[str]:
    """Return the links of a file with an anchor that the linked Markdown file has not."""
    to_anchors = (link for link in links(path.read_text()) if "#" in link)
    return [
        link
        for link in to_anchors
        if (file := linked_file(path, link)).suffix == ".md"
        and file.exists()
        and link.split("#")[1] not in anchors(file.read_text())
    ]
