"""Misses of real programs are those that Valgrind's cachegrind counts in a run of its own.

Cachegrind counts references, the simulators here count lines, and it lets the last level see all
lines of a reference that missed with one of them. Where no reference straddles two lines both are
the same, so programs without straddling compare the simulators directly. Programs of the system
have straddling references; they compare the referee under cachegrind's rules for those.

Cachegrind knows no modified lines: a write allocates as a read does, and nothing is written back.
The simulators therefore replay the programs with loads instead of stores.
"""

from collections.abc import Callable

import pytest

from parity import referee, valgrind_peer
from parity.referee import Counts, Level, Machine
from parity.skipline_trace import traced as skipline_traced
from parity.subjects import SUBJECTS, Subject
from parity.valgrind_peer import OWN_PROGRAMS, SYSTEM_PROGRAMS, Traced

pytestmark = pytest.mark.skipif(not valgrind_peer.AVAILABLE, reason=valgrind_peer.NEEDS)

SHAPES = {
    "tiny": (Level("I1", 4, 2), Level("D1", 8, 2), Level("LL", 16, 4)),
    "direct-mapped": (Level("I1", 8, 1), Level("D1", 16, 1), Level("LL", 128, 1)),
    "desktop": (Level("I1", 64, 8), Level("D1", 64, 8), Level("LL", 512, 16)),
}


@pytest.mark.parametrize("name", OWN_PROGRAMS)
def test_own_programs_do_not_straddle_lines(traced: Callable[[str], Traced], name: str) -> None:
    assert all(len(reference.lines) == 1 for reference in traced(name).trace.references)


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OWN_PROGRAMS)
def test_every_level_hits_and_misses_as_often(
    traced: Callable[[str], Traced], name: str, shape: str, subject: Subject
) -> None:
    i1, d1, ll = SHAPES[shape]
    events = traced(name).program.cachegrind(i1, d1, ll)
    data, d1_misses = events["Dr"] + events["Dw"], events["D1mr"] + events["D1mw"]
    ll_misses = events["ILmr"] + events["DLmr"] + events["DLmw"]
    expected = {
        "I1": Counts(events["Ir"] - events["I1mr"], events["I1mr"], 0),
        "D1": Counts(data - d1_misses, d1_misses, 0),
        "LL": Counts(events["I1mr"] + d1_misses - ll_misses, ll_misses, 0),
    }
    machine = Machine((d1, ll), instructions=i1)
    assert subject(traced(name).loads, machine) == expected


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        *((name, "tiny") for name in (*OWN_PROGRAMS, *SYSTEM_PROGRAMS)),
        *((name, "desktop") for name in SYSTEM_PROGRAMS),
    ],
)
def test_all_events_follow_from_the_trace(
    traced: Callable[[str], Traced], name: str, shape: str
) -> None:
    """Reads and writes, instructions and data apart, in both levels: nine numbers."""
    program, trace = traced(name).program, traced(name).trace
    shapes = SHAPES[shape]
    assert referee.cachegrind_of(trace.references, *shapes) == program.cachegrind(*shapes)


@pytest.mark.parametrize("name", SYSTEM_PROGRAMS)
def test_references_of_programs_of_the_system_miss_as_often(
    traced: Callable[[str], Traced], name: str
) -> None:
    """Also those that straddle lines, where the last level never has to choose a victim."""
    i1, d1, ll = SHAPES["desktop"][0], SHAPES["desktop"][1], Level("LL", 8192, 16)
    events = traced(name).program.cachegrind(i1, d1, ll)
    result = skipline_traced(traced(name).trace, Machine((d1, ll), instructions=i1))
    levels = {level["name"]: level["references"] for level in result["levels"]}
    assert result["fetches_left_out"] == 0
    counted = {
        "I1mr": levels["L1I"]["fetch"]["misses"],
        "D1mr": levels["L1"]["load"]["misses"],
        "D1mw": levels["L1"]["store"]["misses"],
        "ILmr": levels["L2"]["fetch"]["misses"],
        "DLmr": levels["L2"]["load"]["misses"],
        "DLmw": levels["L2"]["store"]["misses"],
    }
    assert counted == {event: events[event] for event in counted}
