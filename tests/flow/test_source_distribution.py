"""The source distribution has all that a build needs: files compiled in, crates, lock file."""

import json
import os
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest

import source_distribution
from built_in import built_in_files
from command_line import REPOSITORY


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of this repository, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    archive = source_distribution.write(REPOSITORY, folder)
    with tarfile.open(archive) as tar:
        # Python has filters since 3.11.4.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    (root,) = (path for path in folder.iterdir() if path.is_dir())
    return root


def metadata(root: Path, *before: str, **more: str) -> dict[str, object]:
    """Read what cargo says of all crates; it may not touch the lock file."""
    command = [*before, "cargo", "metadata", "--locked", "--format-version", "1"]
    environment = {**os.environ, **more}
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def locked(root: Path) -> dict[tuple[str, str], str | None]:
    """Return the checksums of crates by name and version."""
    packages = tomllib.loads((root / "Cargo.lock").read_text())["package"]
    return {(one["name"], one["version"]): one.get("checksum") for one in packages}


def test_it_has_every_file_that_is_compiled_in(unpacked: Path) -> None:
    for file in built_in_files():
        assert (unpacked / file).read_bytes() == (REPOSITORY / file).read_bytes(), file


def test_its_lock_file_has_the_versions_of_the_repository(unpacked: Path) -> None:
    own, whole = locked(unpacked), locked(REPOSITORY)
    assert {key: whole[key] for key in own} == own
    assert ("pyo3" in {name for name, _ in own}) and len(own) < len(whole)


def test_cargo_finds_every_crate_without_a_network_and_without_its_cache(
    unpacked: Path, tmp_path: Path
) -> None:
    shut_off = ["unshare", "--map-root-user", "--net"]
    is_there = shutil.which("unshare") is not None
    can = is_there and subprocess.run([*shut_off, "true"], check=False).returncode == 0
    # Rust itself stays where it is; what cargo has fetched before is elsewhere.
    rust = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    homes = {"CARGO_HOME": str(tmp_path / "cargo"), "RUSTUP_HOME": rust}
    found = metadata(unpacked, *(shut_off if can else ()), **homes)
    packages = found["packages"]
    assert isinstance(packages, list)
    outside = [one["id"] for one in packages if str(unpacked) not in one["manifest_path"]]
    assert outside == []


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("b", "a"):
        (tmp_path / "folder" / name).write_text(name)
    first = source_distribution.packed(tmp_path / "folder")
    (tmp_path / "folder" / "a").touch()
    assert source_distribution.packed(tmp_path / "folder") == first


def test_it_has_what_its_own_metadata_names(unpacked: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO", "THIRD-PARTY.txt"):
        assert (unpacked / name).is_file(), name
    package = unpacked / "python" / "skipline"
    assert (package / "__init__.py").is_file()
    assert (package / "report" / "vega.js.gz").is_file()
