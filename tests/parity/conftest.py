"""Fixtures that the comparisons share."""

import shutil
from collections.abc import Callable
from functools import cache

import pytest

from parity import valgrind_peer
from parity.valgrind_peer import Traced


@pytest.fixture(scope="session")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Traced]:
    """A program by its name and what it touches; it is traced once. Skips if it is not there."""

    @cache
    def by_name(name: str) -> Traced:
        directory = tmp_path_factory.mktemp(name)
        if name in valgrind_peer.OWN_PROGRAMS:
            program = valgrind_peer.compiled(name, directory)
        elif shutil.which(name):
            program = valgrind_peer.of_the_system(name, directory)
        else:
            pytest.skip(f"needs the program {name}")
        return Traced(program, program.trace(directory / "trace.lackey"))

    return by_name
