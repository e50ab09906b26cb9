"""The wheel works on its own: a clean environment, an empty directory, no repository.

The wheel for other machines is a build of its own, which takes minutes: it is tested in a long
soak, without the optimisation at link time that takes most of them. The other one has the same
files in it and a module of the tests' build.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import extra_sizes
from command_line import L2FWD, REPOSITORY, SHORT

# Beside pip: what a first answer may take.
MOST_BYTES = 50 << 20
PAGE = Path("skipline", "explorer", "page")
QUICKER = ("LTO=off", "CODEGEN_UNITS=16", "DEBUG=false")


def run(*command: str | Path, cwd: Path = REPOSITORY) -> str:
    """Run a command that must succeed; return its stdout."""
    environment = {
        key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def released(_: Path) -> Path:
    """The wheel that `make wheel` leaves, for any Linux with a C library from 2018 on."""
    stamp = REPOSITORY / ".venv" / "stamps" / "wheel"
    stamp.unlink(missing_ok=True)
    run("env", *(f"CARGO_PROFILE_RELEASE_{setting}" for setting in QUICKER), "make", "wheel")
    # The next `make wheel` builds the one to be given away.
    stamp.unlink()
    (wheel,) = (REPOSITORY / "dist").glob("skipline-*.whl")
    assert "manylinux_2_28" in wheel.name
    assert (REPOSITORY / "python" / PAGE / "index.html").is_file()
    return wheel


def of_the_tests(directory: Path) -> Path:
    """A wheel for this machine of what is built for tests anyway."""
    options = ("--profile", "dev", "--features", "tests", "--locked", "--compatibility", "linux")
    run(sys.executable, "-m", "maturin", "build", *options, "--out", directory)
    (wheel,) = directory.glob("skipline-*.whl")
    return wheel


@pytest.fixture(
    scope="module", params=[of_the_tests, pytest.param(released, marks=pytest.mark.soak_long)]
)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the wheel and the locked versions of what it needs."""
    directory = tmp_path_factory.mktemp("wheel")
    wheel: Path = request.param(directory)
    assert "abi3" in wheel.name
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert uv is not None
    environment, locked = directory / "environment", directory / "requirements.txt"
    export = ("export", "--locked", "--no-dev", "--no-emit-project", "--quiet")
    run(uv, *export, "--output-file", locked)
    run(uv, "venv", "--quiet", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    run(uv, "pip", "install", "--quiet", "--python", python, "--requirements", locked)
    run(uv, "pip", "install", "--quiet", "--python", python, "--no-deps", wheel)
    return environment / "bin" / "skipline"


def test_the_wheel_brings_its_platforms(installed: Path, tmp_path: Path) -> None:
    assert "skylake-gold-6140" in run(installed, "platforms", "list", cwd=tmp_path)


def test_the_wheel_runs_a_built_in_scenario(installed: Path, tmp_path: Path) -> None:
    out = run(installed, "run", L2FWD, *SHORT, "--format", "csv", cwd=tmp_path)
    assert "pcie_write_hit_rate" in out


def test_the_wheel_writes_the_page_of_a_run(installed: Path, tmp_path: Path) -> None:
    run(installed, "run", L2FWD, *SHORT, "--out", "out", cwd=tmp_path)
    run(installed, "report", "out", cwd=tmp_path)
    assert "</html>" in (tmp_path / "out" / "report.html").read_text()


def test_the_wheel_has_the_explorers_page_as_it_is_built(installed: Path) -> None:
    (packages,) = (installed.parent.parent / "lib").glob("python*/site-packages")
    built, there = (
        {path.name: path.read_bytes() for path in (folder / PAGE).glob("*")}
        for folder in (REPOSITORY / "python", packages)
    )
    assert there == built


def test_the_wheel_alone_is_small(installed: Path) -> None:
    (packages,) = (installed.parent.parent / "lib").glob("python*/site-packages")
    assert extra_sizes.installed_bytes(packages) <= MOST_BYTES
    names = {path.name.partition("-")[0] for path in packages.glob("*.dist-info")}
    assert {"click", "msgspec", "rich", "skipline"} <= names
    assert not {"numpy", "polars", "pydantic", "pyarrow"} & names


def test_what_needs_an_extra_says_which(installed: Path, tmp_path: Path) -> None:
    command = [str(installed), "experiment", "list"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("pip install 'skipline[sweeps]'\n")


def test_a_demo_is_an_answer(installed: Path, tmp_path: Path) -> None:
    assert "it leaks" in run(installed, "demo", cwd=tmp_path)
