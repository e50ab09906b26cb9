"""The source distribution has all that a build needs: what is compiled in, manifests, lock file."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from built_in import built_in_files
from command_line import REPOSITORY


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution of this repository, unpacked."""
    folder = tmp_path_factory.mktemp("sdist")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("skipline-*.tar.gz")
    with tarfile.open(archive) as tar:
        # Python has filters since 3.11.4.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(folder)
    (root,) = (path for path in folder.iterdir() if path.is_dir())
    return root


def workspace_crates(root: Path) -> set[str]:
    """All crates by what cargo says, which reads every manifest and may not touch the lock file."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    metadata = json.loads(done.stdout)
    members = set(metadata["workspace_members"])
    return {package["name"] for package in metadata["packages"] if package["id"] in members}


def test_it_has_every_file_that_is_compiled_in(unpacked: Path) -> None:
    for file in built_in_files():
        assert (unpacked / file).read_bytes() == (REPOSITORY / file).read_bytes(), file


def test_its_manifests_agree_with_its_lock_file(unpacked: Path) -> None:
    assert (unpacked / "Cargo.lock").read_bytes() == (REPOSITORY / "Cargo.lock").read_bytes()
    crates = workspace_crates(unpacked)
    assert "scenario" in crates
    # Maturin keeps those on which others depend.
    assert crates == workspace_crates(REPOSITORY) - {"scenario-tests"}


def test_it_has_what_its_own_metadata_names(unpacked: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO"):
        assert (unpacked / name).is_file(), name
    assert (unpacked / "python" / "skipline" / "__init__.py").is_file()
