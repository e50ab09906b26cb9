"""What a release is made of: each part is what the sources say, and differences are found.

Two whole builds take long: they are for a long soak, which audits the wheels and runs that for
aarch64 under qemu-user-static where Debian has Python for it.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bill_of_materials
import parts
import release
import third_party
from command_line import L2FWD, REPOSITORY, SHORT

QUICKER = {"LTO": "off", "CODEGEN_UNITS": "16", "DEBUG": "false"}
AARCH64 = "aarch64-unknown-linux-gnu"
_PACKAGES = "python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libgcc-s1 zlib1g "
ARM_PACKAGES = (_PACKAGES + "libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5").split()


def command(*words: str | Path, cwd: Path = REPOSITORY, **more: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**os.environ, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_licences_of_parts_are_those_of_the_lock_files() -> None:
    assert (REPOSITORY / "THIRD-PARTY.txt").read_text() == third_party.text(), "make third-party"


def test_the_list_of_parts_is_valid_and_the_same_each_time() -> None:
    text = bill_of_materials.bill()
    assert text == bill_of_materials.bill()
    listed = {part["purl"].split("@")[0] for part in json.loads(text)["components"]}
    assert {"pkg:cargo/pyo3", "pkg:npm/vega-lite", "pkg:pypi/click", "pkg:pypi/rich"} <= listed
    # Macros, tools of tests and extras are not in the wheel.
    assert not {"pkg:cargo/serde_derive", "pkg:cargo/proptest", "pkg:pypi/polars"} & listed
    linked = {part.name for part in parts.crates()}
    assert {name.rpartition("/")[2] for name in listed if "cargo" in name} == linked


def test_crates_are_held_to_their_licences_and_silence_on_faults_is_loud() -> None:
    told = command("packaging/deny.sh")
    assert "WARNING: known vulnerabilities were NOT looked for" in told


def test_a_known_fault_of_a_crate_is_found(tmp_path: Path) -> None:
    advisory = tmp_path / "crates" / "toml" / "RUSTSEC-2026-0001.md"
    advisory.parent.mkdir(parents=True)
    about = '[advisory]\nid = "RUSTSEC-2026-0001"\npackage = "toml"\ndate = "2026-01-01"\n'
    advisory.write_text(f"```toml\n{about}\n[versions]\npatched = []\n```\n\n# Made up\n\nText.\n")
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "one")):
        command(*git, *words, cwd=tmp_path)
    deny = [REPOSITORY / "packaging" / "deny.sh", tmp_path]
    done = subprocess.run(deny, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "RUSTSEC-2026-0001" in done.stderr
    assert "WARNING" not in done.stdout


def test_differences_of_two_builds_are_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder, content in zip(folders, ("same", "other"), strict=True):
        folder.mkdir()
        (folder / "equal.txt").write_text("equal")
        with zipfile.ZipFile(folder / "skipline.whl", "w") as wheel:
            for name, text in {"a.py": "same", "b.so": content}.items():
                wheel.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    (folders[0] / "alone.json").write_text("{}")
    assert list(release.differences(*folders)) == [
        "alone.json: in one folder alone",
        "skipline.whl: b.so differs",
    ]
    assert list(release.differences(folders[0], folders[0])) == []


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of what git knows, without the optimisations that take most of the time."""
    dist = tmp_path_factory.mktemp("release") / "dist"
    quicker = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in QUICKER.items()}
    told = command("make", "release", f"DIST={dist}", cwd=REPOSITORY, **quicker)
    assert "both builds are identical" in told
    return dist


@pytest.mark.soak_long
def test_a_release_has_wheels_that_are_audited(released: Path) -> None:
    names = {path.name.split("-")[-1] for path in released.glob("*.whl")}
    assert names == {"manylinux_2_28_x86_64.whl", "manylinux_2_28_aarch64.whl"}
    (parts,) = released.glob("*.cdx.json")
    for wheel in released.glob("*.whl"):
        with zipfile.ZipFile(wheel) as unpacked:
            assert b"<script" in unpacked.read("skipline/explorer/page/index.html")
            lists = [name for name in unpacked.namelist() if "/sboms/" in name]
            assert [unpacked.read(name) for name in lists] == [parts.read_bytes()]
    assert (released / "SHA256SUMS").is_file()
    command("sha256sum", "--check", "SHA256SUMS", cwd=released)


@pytest.mark.soak_long
def test_the_wheel_for_aarch64_runs(released: Path, tmp_path: Path) -> None:
    run_on_aarch64(next(released.glob("*aarch64.whl")), tmp_path)


def run_on_aarch64(wheel: Path, folder: Path) -> None:
    """Run a scenario by a wheel for aarch64, with Debian's Python for it under qemu."""
    root = system_for_aarch64(folder)
    packages = folder / "packages"
    only = ("--only-binary", ":all:", "--platform", "manylinux_2_28_aarch64")
    target = ("--python-version", "3.11", "--target", packages)
    command(sys.executable, "-m", "pip", "install", "-q", *only, *target, wheel)
    python = root / "usr" / "bin" / "python3.11"
    run = ("-m", "skipline", "run", L2FWD, *SHORT, "--format", "json")
    emulator = shutil.which("qemu-aarch64-static")
    assert emulator is not None
    environment = {"PYTHONPATH": str(packages), "PYTHONHOME": str(root / "usr")}
    there = json.loads(command(emulator, "-L", root, python, *run, cwd=folder, **environment))
    here = json.loads(command(sys.executable, *run, cwd=folder))
    for result in (there, here):
        for key in ("wall_s", "line_ops_per_s", "real_time_factor"):
            del result[key]
    assert there == here


def system_for_aarch64(folder: Path) -> Path:
    """Unpack Debian's Python for aarch64 into a folder; skip where apt does not have it."""
    if shutil.which("qemu-aarch64-static") is None or shutil.which("apt-get") is None:
        pytest.skip("no qemu-aarch64-static, or no apt: install qemu-user-static")
    state, root = folder / "apt", folder / "root"
    for name in ("lists/partial", "cache/archives/partial", "etc"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    options = [
        "APT::Architecture=arm64",
        "APT::Architectures::=arm64",
        f"Dir::State::lists={state}/lists",
        f"Dir::State::status={state}/status",
        f"Dir::Cache={state}/cache",
    ]
    apt = ["apt-get", "-qq", *(word for option in options for word in ("-o", option))]
    command(*apt, "update", cwd=folder)
    command(*apt, "download", *ARM_PACKAGES, cwd=state)
    for package in state.glob("*.deb"):
        command("dpkg-deb", "--extract", package, root)
    return root
