"""Build everything that is given away, twice in different folders, and compare.

    python packaging/release.py DIST [--target TRIPLE ...]

Each time the sources that git knows are copied, the explorer's page is built of them, the source
distribution is made of both, and the wheels are made of that, without a network where the system
can take it away. What is identical goes to DIST; a difference is listed, and nothing is given away.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import bill_of_materials
import source_distribution

REPOSITORY = Path(__file__).parents[1]
_TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
_COMPATIBILITY = "manylinux_2_28"
_SUMS = "SHA256SUMS"
# The longest lists of differences that are shown.
_MOST_SHOWN = 20


def build(folder: Path, targets: Sequence[str]) -> Path:
    """Build everything of the sources in a folder, and return where the artefacts are."""
    tree, out = folder / "skipline", folder / "dist"
    _build_page(tree)
    archive = source_distribution.write(tree, out)
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    # maturin takes a list of parts from the sources alone.
    parts = unpacked / f"{unpacked.name}.cdx.json"
    parts.write_text(bill_of_materials.bill(tree), encoding="utf-8")
    for target in targets:
        _build_wheel(unpacked, target, parts, out)
    shutil.copy(parts, out)
    shutil.copy(tree / "THIRD-PARTY.txt", out)
    return out


def _copy(sources: Path, tree: Path) -> None:
    """Copy the files that git knows, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=sources, check=True, capture_output=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (sources / name).is_file():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(sources / name, target)


def _build_page(tree: Path) -> None:
    """Build the explorer's page, which the source distribution has in it as it is served."""
    target = tree.parent / "target-of-page"
    target.mkdir()
    # Programs that build, and are not in what they build: once for both.
    tools = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "web-tools"
    tools.mkdir(parents=True, exist_ok=True)
    (target / tools.name).symlink_to(tools.resolve())
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    environment = _naming({tree: "skipline", home: "cargo"}, target)
    command = [sys.executable, str(tree / "packaging" / "web_page.py")]
    subprocess.run(command, cwd=tree, check=True, env=environment)


def _build_wheel(unpacked: Path, target: str, parts: Path, out: Path) -> None:
    command = [
        *_without_network(),
        *(sys.executable, "-m", "maturin", "build", "--release", "--locked", "--offline", "--zig"),
        *("--target", target, "--compatibility", _COMPATIBILITY, "--out", str(out)),
        *("--sbom-include", str(parts)),
    ]
    environment = _naming({unpacked: "skipline"}, unpacked.parent / "target")
    subprocess.run(command, cwd=unpacked, check=True, env=environment)


def _naming(folders: Mapping[Path, str], target: Path) -> dict[str, str]:
    """Return an environment in which what is compiled names no folder of this machine."""
    flags = os.environ.get("RUSTFLAGS", "").split()
    flags += [f"--remap-path-prefix={folder}={name}" for folder, name in folders.items()]
    return {**os.environ, "CARGO_TARGET_DIR": str(target), "RUSTFLAGS": " ".join(flags)}


def _without_network() -> list[str]:
    """Return what runs a command without a network; nothing where that is not allowed."""
    shut_off = ["unshare", "--map-root-user", "--net"]
    can = (
        shutil.which("unshare") and subprocess.run([*shut_off, "true"], check=False).returncode == 0
    )
    if can:
        return shut_off
    print("note: the network cannot be taken away here; the wheels are built offline all the same")
    return []


def differences(first: Path, second: Path) -> Iterator[str]:
    """Yield what differs between two folders of artefacts, files of archives apart."""
    names = {path.name for path in (*first.iterdir(), *second.iterdir())}
    for name in sorted(names):
        one, other = first / name, second / name
        if not one.is_file() or not other.is_file():
            yield f"{name}: in one folder alone"
        elif one.read_bytes() != other.read_bytes():
            yield f"{name}: {', '.join(_inside(one, other)) or 'its packing'} differs"


def _inside(one: Path, other: Path) -> list[str]:
    """Return the files of two archives that differ, the first of many."""
    left, right = _digests(one), _digests(other)
    found = sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))
    more = [f"{len(found) - _MOST_SHOWN} more"] if len(found) > _MOST_SHOWN else []
    return [*found[:_MOST_SHOWN], *more]


def _digests(archive: Path) -> dict[str, str]:
    found = {}
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as zipped:
            for entry in zipped.infolist():
                about = f"{entry.date_time} {entry.external_attr}".encode()
                found[entry.filename] = hashlib.sha256(zipped.read(entry) + about).hexdigest()
    elif archive.name.endswith(".tar.gz"):
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                file = tar.extractfile(member)
                content = file.read() if file else b""
                about = f"{member.mtime} {member.mode}".encode()
                found[member.name] = hashlib.sha256(content + about).hexdigest()
    return found


def _give(built: Path, dist: Path) -> None:
    """Put the artefacts and their digests into the folder to be given away."""
    dist.mkdir(parents=True, exist_ok=True)
    sums = []
    for path in sorted(built.iterdir()):
        shutil.copy(path, dist)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sums.append(f"{digest}  {path.name}\n")
        print(f"{path.stat().st_size:>12,}  {digest[:16]}  {path.name}")
    (dist / _SUMS).write_text("".join(sums), encoding="utf-8")


def main() -> None:
    """Build twice, compare, and give away what is identical."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dist", type=Path)
    parser.add_argument("--target", action="append", choices=_TARGETS)
    given = parser.parse_args()
    time = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=REPOSITORY, check=True, capture_output=True
    )
    os.environ.setdefault("SOURCE_DATE_EPOCH", time.stdout.decode().strip())
    with tempfile.TemporaryDirectory(prefix="skipline-release-") as folder:
        # Names of other lengths: a path that is left anywhere shows.
        first, second = Path(folder) / "first", Path(folder) / "the-second-one"
        for one in (first, second):
            _copy(REPOSITORY, one / "skipline")
        built = [build(one, given.target or _TARGETS) for one in (first, second)]
        if found := list(differences(*built)):
            sys.exit("\n".join(["error: the two builds differ:", *found]))
        _give(built[0], given.dist)
    print("both builds are identical")


if __name__ == "__main__":
    main()
