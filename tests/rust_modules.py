"""The modules of each crate, and which of them use which: read from the text of the sources."""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

_COMMENT = re.compile(r"//[^\n]*")
_TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.M)
_PATH = re.compile(r"\bcrate::([a-z]\w*)")
_GROUP = re.compile(r"\bcrate::\{")
_SUPER = re.compile(r"\bsuper::([a-z]\w*)")


def crates(repository: Path) -> dict[str, list[Path]]:
    """Return the source files of each crate, those of its tests left out, by the crate's folder."""
    listed = subprocess.run(
        ["git", "ls-files", "crates/**/*.rs"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    files = defaultdict(list)
    for name in listed:
        crate, source, inside = name.partition("/src/")
        own_tests = inside.endswith("tests.rs") or "tests/" in inside
        if source and not own_tests and (repository / name).is_file():
            files[crate].append(repository / name)
    return dict(files)


def uses(files: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module of a crate uses.

    `files` has the text of each file by its path below `src`. A module is a file or folder directly
    below it.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for path, text in files.items():
        module = path.split("/")[0].removesuffix(".rs")
        code = _COMMENT.sub("", _TESTS.split(text)[0])
        names = {*_PATH.findall(code), *_grouped(code)}
        if "/" not in path:
            names |= set(_SUPER.findall(code))
        found[module] |= names - {module}
    return {module: names & found.keys() for module, names in found.items()}


def _grouped(code: str) -> Iterator[str]:
    """Yield the modules named first in each branch of `crate::{a::b, c::{d, e}}`."""
    for group in _GROUP.finditer(code):
        depth, branch = 1, ""
        for character in code[group.end() :]:
            depth += {"{": 1, "}": -1}.get(character, 0)
            if depth == 0 or (depth == 1 and character == ","):
                if name := re.match(r"\s*([a-z]\w*)", branch):
                    yield name[1]
                branch = ""
                if depth == 0:
                    break
            else:
                branch += character
