"""Print what a wheel takes with each of its extras: a table of MiB and of seconds to install it.

    python packaging/extra_sizes.py WHEEL

Each is installed into an environment of its own, in the locked versions; pip is not counted.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
EXTRAS = ("", "sweeps", "advise", "reports", "notebook", "ray", "all")


def installed_bytes(folder: Path) -> int:
    """Return what files take on disk, in blocks, as du counts them."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def install(wheel: Path, extra: str, folder: Path) -> Path:
    """Install a wheel with an extra into an environment in `folder`; return its packages."""
    export = ["uv", "export", "--locked", "--no-default-groups", "--no-emit-project", "--quiet"]
    options = ["--extra", extra] if extra else []
    locked = folder / "locked.txt"
    _run(*export, *options, "--output-file", str(locked), cwd=REPOSITORY)
    environment = folder / "environment"
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(environment))
    python = ("--python", str(environment / "bin" / "python"), "--link-mode", "copy")
    _run("uv", "pip", "install", "--quiet", *python, "--requirements", str(locked))
    _run("uv", "pip", "install", "--quiet", *python, "--no-deps", str(wheel))
    (packages,) = environment.glob("lib/python*/site-packages")
    return packages


def rows(wheel: Path) -> Iterator[tuple[str, float, float]]:
    """Yield extra, MiB and seconds."""
    for extra in EXTRAS:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            packages = install(wheel, extra, Path(folder))
            took = time.monotonic() - began
            yield extra, installed_bytes(packages) / 2**20, took


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True)


if __name__ == "__main__":
    print("| install | MiB |\n| --- | --- |")
    for extra, size, took in rows(Path(sys.argv[1]).resolve()):
        name = f"skipline[{extra}]" if extra else "skipline"
        print(f"| `{name}` | {size:,.0f} |", flush=True)
        print(f"{name}: {took:.0f} s", file=sys.stderr)
