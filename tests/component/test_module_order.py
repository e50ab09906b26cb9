"""Do the modules of each crate use only those below them?"""

from graphlib import CycleError, TopologicalSorter

import pytest

import rust_modules
from command_line import REPOSITORY

CRATES = rust_modules.crates(REPOSITORY)
# Crates whose order a reader relies on; fewer would mean that sources are no longer found.
FEWEST_CRATES, FEWEST_OF_THE_MODEL = 20, 20


def _uses(crate: str) -> dict[str, set[str]]:
    source = REPOSITORY / crate / "src"
    return rust_modules.uses(
        {str(path.relative_to(source)): path.read_text() for path in CRATES[crate]}
    )


@pytest.mark.parametrize("crate", CRATES)
def test_no_module_of_a_crate_uses_itself_over_others(crate: str) -> None:
    try:
        TopologicalSorter(_uses(crate)).prepare()
    except CycleError as error:
        pytest.fail(f"{crate}: modules use one another: {' <- '.join(error.args[1])}")


def test_the_sources_and_what_they_use_are_found() -> None:
    assert len(CRATES) >= FEWEST_CRATES
    model = _uses("crates/sim/model")
    assert len(model) >= FEWEST_OF_THE_MODEL
    assert "fabric" in model["core"]


def test_uses_are_found_in_each_form_and_not_in_comments_or_tests() -> None:
    files = {
        "lib.rs": "mod a; mod b; mod c; mod d;",
        "a.rs": "use crate::{b::{One, Two}, d};\n// crate::c::Three\n",
        "b/inner.rs": "use super::c;\nfn x() { crate::c::run() }\n",
        "b.rs": "use super::d::Four;\n",
        "c.rs": "use std::fmt;\n#[cfg(test)]\nmod tests {\n    use crate::a::One;\n}\n",
        "d.rs": "",
    }
    assert rust_modules.uses(files) == {
        "lib": set(),
        "a": {"b", "d"},
        "b": {"c", "d"},
        "c": set(),
        "d": set(),
    }


def test_a_circle_is_found() -> None:
    files = {"a.rs": "use crate::b;", "b.rs": "use crate::{c};", "c.rs": "fn f() { crate::a::g() }"}
    with pytest.raises(CycleError):
        TopologicalSorter(rust_modules.uses(files)).prepare()
