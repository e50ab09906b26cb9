"""Write the source distribution, with the crates of others: it builds without a network.

    python packaging/source_distribution.py OUT

Of the workspace it has the crates of the module alone, with a lock file of the same versions.
"""

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
_MODULE = "skipline-python"
_CONFIG = """\
# The crates of others are beside: nothing is fetched.
[source.crates-io]
replace-with = "vendored"

[source.vendored]
directory = "vendor"
"""


def write(root: Path, out: Path) -> Path:
    """Write the archive of the sources below `root` into `out`, and return where it is."""
    with tempfile.TemporaryDirectory() as folder:
        unpacked = _by_maturin(root, Path(folder))
        members = _needed(root)
        _keep_members(unpacked, members)
        _vendor(root, unpacked)
        archive = out / f"{unpacked.name}.tar.gz"
        out.mkdir(parents=True, exist_ok=True)
        archive.write_bytes(packed(unpacked))
        return archive


def _by_maturin(root: Path, folder: Path) -> Path:
    """Return the unpacked distribution that maturin makes of what is compiled in."""
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    subprocess.run(command, cwd=root, check=True, stdout=sys.stderr, stderr=sys.stderr)
    (archive,) = folder.glob("skipline-*.tar.gz")
    with tarfile.open(archive) as tar:
        # Python has filters since 3.11.4.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    archive.unlink()
    (unpacked,) = folder.iterdir()
    return unpacked


def _needed(root: Path) -> list[str]:
    """Return the folders of the crates of this workspace on which the module depends."""
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    metadata = json.loads(done.stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    folders = {
        package["id"]: Path(package["manifest_path"]).parent.relative_to(root.resolve()).as_posix()
        for package in metadata["packages"]
        if package["source"] is None
    }
    waiting = [one["id"] for one in metadata["packages"] if one["name"] == _MODULE]
    known = set(waiting)
    while waiting:
        # Manifests name what their tests need, and cargo wants all that they name.
        new = {one["pkg"] for one in nodes[waiting.pop()]["deps"] if one["pkg"] in folders} - known
        known |= new
        waiting += sorted(new)
    return sorted(folders[at] for at in known)


def _keep_members(unpacked: Path, members: list[str]) -> None:
    """Leave the other crates out, and make the manifest and the lock file say so."""
    kept = {unpacked / member for member in members}
    for manifest in list(unpacked.rglob("Cargo.toml")):
        crate = manifest.parent
        if (
            crate != unpacked
            and crate not in kept
            and not any(crate in one.parents for one in kept)
        ):
            shutil.rmtree(crate)
    path = unpacked / "Cargo.toml"
    listed = ", ".join(f'"{member}"' for member in members)
    text = re.sub(r"^members = \[.*?\]$", f"members = [{listed}]", path.read_text(), flags=re.M)
    path.write_text(_known_profiles(text))


def _known_profiles(text: str) -> str:
    """Leave out the profiles of single packages: they are those of tests."""
    return re.sub(r"^\[profile\.dev\.package\.[^\]]+\]\n[^\[#]*", "", text, flags=re.M)


def _vendor(root: Path, unpacked: Path) -> None:
    """Put the crates of others beside; a lock file without what was left out names them."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(unpacked.parent / "target")}
    # What is not needed any more leaves the lock file, and no version changes.
    subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--offline"],
        cwd=unpacked, check=True, stdout=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    _require_versions(root / "Cargo.lock", unpacked / "Cargo.lock")
    command = ["cargo", "vendor", "--locked", "--quiet", "--versioned-dirs", "vendor"]
    subprocess.run(command, cwd=unpacked, check=True, stdout=subprocess.DEVNULL, env=environment)
    config = unpacked / ".cargo" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(_CONFIG)


def _require_versions(whole: Path, part: Path) -> None:
    def versions(lock: Path) -> set[tuple[str, str]]:
        packages = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
        return {(package["name"], package["version"]) for package in packages}

    if other := versions(part) - versions(whole):
        raise SystemExit(f"the lock file of the source distribution has other versions: {other}")


def packed(unpacked: Path) -> bytes:
    """Pack a folder so that the same files give the same bytes."""
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(path for path in unpacked.rglob("*") if path.is_file()):
            name = path.relative_to(unpacked.parent).as_posix()
            entry = tar.gettarinfo(path, name)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = time
            entry.mode = 0o755 if entry.mode & 0o100 else 0o644
            with path.open("rb") as file:
                tar.addfile(entry, file)
    return gzip.compress(plain.getvalue(), 9, mtime=0)


if __name__ == "__main__":
    archive = write(REPOSITORY, Path(sys.argv[1]))
    print(f"{archive}: {archive.stat().st_size:,} bytes")
