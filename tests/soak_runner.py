#!/usr/bin/env python3
"""Runs a test program of Rust in a soak: the modules whose tests do more in one.

Cargo calls it with the program and its arguments, in the directory of the package. What the
others would do, with the same random numbers, `make test` has done.
"""

import os
import re
import sys
from pathlib import Path

# How much of a test a run covers: asked directly, or through a function named for it.
_ASKS = re.compile(r"\bsoak::|[^_.\w]cases\(")
# What cargo puts between the name of a target and the end of its file's name.
_HASH = re.compile(r"-[0-9a-f]{16}$")


def modules(package: Path, target: str) -> list[str]:
    """Return the first modules of a test target that ask how much they are to do."""
    # The tests of a crate may be a package of their own.
    directory = package / target if package.name == "tests" else package / "tests" / target
    asking = (path for path in directory.rglob("*.rs") if _ASKS.search(path.read_text("utf-8")))
    return sorted({path.relative_to(directory).with_suffix("").parts[0] for path in asking})


def main(command: list[str]) -> None:
    """Run the program with the modules as filters; without any there is nothing to run."""
    program, *arguments = command
    target = _HASH.sub("", Path(program).name)
    chosen = modules(Path.cwd(), target)
    if chosen:
        os.execv(program, [program, *(f"{name}::" for name in chosen), *arguments])
    print(f"{target}: nothing that a soak does more of")


if __name__ == "__main__":
    main(sys.argv[1:])
