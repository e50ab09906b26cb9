"""Crates that are built alone have dependencies with the same features as all crates together.

Else cargo compiles these dependencies, and all that depends on them, a second time: the whole
simulator, for minutes. `tests/features` lists what is asked for beyond a crate's own wishes.
"""

import re
import subprocess

import pytest

import built
from command_line import REPOSITORY

# As `TESTED` of the Makefile.
ALL = ("--workspace", "--exclude", "benches", "--exclude", "skipline-python")

# Name and version.
_WITHOUT_FEATURES = 2


def features(*selected: str, edges: str) -> set[str]:
    """Packages that are built for a selection of crates, each with its features if it has any.

    Of a crate that is built twice, for macros and for tests, `cargo tree` may leave one out.
    """
    command = ("cargo", "tree", "--locked", "--prefix=none", f"--edges={edges}", "--format={p} {f}")
    done = subprocess.run(
        [*command, *selected], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = (line.removesuffix(" (*)").strip() for line in done.stdout.splitlines())
    return {line for line in lines if len(line.split()) > _WITHOUT_FEATURES}


@pytest.mark.parametrize(
    "selected",
    [("-p", "skipline-python", "--features", "tests"), built.SELECTED],
    ids=" ".join,
)
def test_nothing_is_compiled_twice(selected: tuple[str, ...]) -> None:
    alone = features(*selected, edges="normal,build")
    together = features(*ALL, edges="normal,build,dev")
    names = {line.split()[0] for line in together}
    twice = {line for line in alone - together if line.split()[0] in names}
    assert not twice, f"name these features in tests/features/Cargo.toml: {sorted(twice)}"


def test_the_list_of_crates_is_that_of_the_makefile() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    tested = re.search(r"^TESTED := (.*) --locked$", makefile, re.MULTILINE)
    assert tested and tuple(tested[1].split()) == ALL
