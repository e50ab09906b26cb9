"""Recipes of CONTRIBUTING.md that are carried out: their patches, and the files that they list."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from command_line import REPOSITORY

RECIPES = REPOSITORY / "tests" / "recipes"


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command that must succeed; return its stdout."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def patch(name: str) -> Path:
    """Return the patch of a recipe."""
    return RECIPES / f"{name}.patch"


def lines_added(name: str) -> dict[str, int]:
    """Return how many lines the patch of a recipe adds to each existing file that it changes."""
    changes = re.split(r"^diff --git ", patch(name).read_text(), flags=re.MULTILINE)[1:]
    return {
        change.split()[0].removeprefix("a/"): len(re.findall(r"^\+(?!\+\+ )", change, re.MULTILINE))
        for change in changes
        if "\nnew file mode " not in change.split("\n@@")[0]
    }


def existing_files(name: str) -> set[str]:
    """Return the existing files that the patch of a recipe changes."""
    return set(lines_added(name))


def listed_files(heading: str) -> set[str]:
    """Return the files of this repository that the table of a recipe lists, without new ones."""
    text = (REPOSITORY / "CONTRIBUTING.md").read_text()
    section = text.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = section.split("| file | what goes there |")[1].split("\n\n")[0]
    first_cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    paths = {path for cell in first_cells for path in re.findall(r"`([^`]+)`", cell)}
    return {path for path in paths if not re.search("[A-Z]{4}", path)}


def carried_out(name: str, copy: Path) -> Path:
    """Copy the tree to `copy` and apply the patch of a recipe there."""
    for file in run("git", "ls-files", "-z", cwd=REPOSITORY).split("\0")[:-1]:
        source = REPOSITORY / file
        if source.is_file():
            target = copy / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    run("git", "apply", str(patch(name)), cwd=copy)
    return copy


def cargo(command: str, *arguments: str, cwd: Path) -> str:
    """Run cargo in a copy of the tree; return its stdout.

    Its results have a folder of their own: cargo tells two copies of a crate apart by the age of
    their files alone, and would take the patched crate for that of this tree.
    """
    target = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "recipes"
    flags = ("--quiet", "--locked")
    return run("cargo", command, *flags, *arguments, cwd=cwd, CARGO_TARGET_DIR=str(target))
