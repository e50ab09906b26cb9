"""The parts of the wheel that others wrote: crates of the module, libraries of the script of pages.

What cargo, uv and npm say of them is written as licences (third_party.py) and as a list for
programs (bill_of_materials.py).
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).parents[1]
_MODULE = "skipline-python"
_TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
_TITLE = re.compile(r"(?P<name>\S+) (?P<version>\S+) \((?P<licence>[^)]+)\)")


class Part(NamedTuple):
    """A part with its licence; `folder` has its sources, if they are here."""

    kind: str
    name: str
    version: str
    licence: str
    checksum: str | None = None
    folder: Path | None = None


def crates(root: Path = REPOSITORY) -> list[Part]:
    """Return the crates of others that are linked into the module on any of its targets."""
    checksums = _checksums(root / "Cargo.lock")
    found: dict[tuple[str, str], Part] = {}
    for target in _TARGETS:
        for package in _linked(_metadata(root, target)):
            key = package["name"], package["version"]
            licence = package["license"] or "see its files"
            folder = Path(package["manifest_path"]).parent
            found[key] = Part("cargo", *key, licence, checksums.get(key), folder)
    return [found[key] for key in sorted(found)]


def scripts(root: Path = REPOSITORY) -> list[Part]:
    """Return the libraries in the script of pages, as the list of their licences names them."""
    text = (root / "python/skipline/report/vega.licences.txt").read_text(encoding="utf-8")
    titles = filter(None, map(_TITLE.fullmatch, text.splitlines()))
    return sorted(Part("npm", one["name"], one["version"], one["licence"]) for one in titles)


def python_libraries(root: Path = REPOSITORY) -> list[Part]:
    """Return what the core is installed with, in the locked versions."""
    locked = tomllib.loads((root / "uv.lock").read_text(encoding="utf-8"))["package"]
    by_name = {package["name"]: package for package in locked}
    known, waiting = set[str](), ["skipline"]
    while waiting:
        needed = by_name[waiting.pop()].get("dependencies", ())
        new = {one["name"] for one in needed if "extra == " not in one.get("marker", "")} - known
        known |= new
        waiting += sorted(new)
    return [Part("pypi", name, by_name[name]["version"], "") for name in sorted(known)]


def _metadata(root: Path, target: str) -> dict[str, Any]:
    command = [
        "cargo",
        "metadata",
        "--locked",
        "--format-version",
        "1",
        "--filter-platform",
        target,
    ]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _linked(metadata: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the packages of registries that are linked in: neither build scripts nor macros."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [at for at, package in packages.items() if package["name"] == _MODULE]
    known = set(waiting)
    while waiting:
        for needed in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in needed["dep_kinds"])
            at = needed["pkg"]
            if is_linked and at not in known and not _is_macro(packages[at]):
                known.add(at)
                waiting.append(at)
    yield from (packages[at] for at in known if packages[at]["source"] is not None)


def _is_macro(package: dict[str, Any]) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def _checksums(lock: Path) -> dict[tuple[str, str], str]:
    packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    return {(one["name"], one["version"]): one["checksum"] for one in packages if "checksum" in one}
