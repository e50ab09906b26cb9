"""What `skipline.trace` makes of arrays and files: the same, whatever they come as."""

from array import array
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import skipline
from skipline.traces.replay import STANDARD_MACHINE, STANDARD_TRACES

LINE_BYTES = 64
LOAD, STORE, FETCH, MODIFY = range(4)
# More than the core takes at once, with an end that is no multiple of anything.
REFERENCES = 150_001
# Hits of the levels and lines from memory, by definition of the traces.
KNOWN = {
    "4mib-sequential": [0, 0, 9_934_464, 65_536],
    "4mib-random": [77_824, 2_420_876, 7_435_764, 65_536],
    "64mib-sequential": [0, 0, 0, 10_000_000],
    "64mib-random": [4_829, 151_485, 3_203_042, 6_640_644],
}


def lines() -> "array[int]":
    """Lines in no order, some of them far away."""
    far = 0x7FFF_0000_0000 // LINE_BYTES
    numbers = ((at * 7_919 % 50_021) ** 2 % 40_009 for at in range(REFERENCES))
    return array("Q", (far + line if line % 7 == 0 else line for line in numbers))


def counts(result: skipline.TraceResult) -> dict[str, Any]:
    """All that does not depend on the clock or on where the trace came from."""
    left_out = ("trace", "format", "wall_s", "line_ops_per_s")
    return {name: value for name, value in asdict(result).items() if name not in left_out}


@pytest.mark.parametrize("name", STANDARD_TRACES)
def test_standard_traces_count_what_is_known_as_arrays_and_as_files(
    name: str, tmp_path: Path
) -> None:
    addresses = skipline.standard_trace(name)
    with (tmp_path / "t.raw64").open("wb") as file:
        addresses.tofile(file)
    for source in (addresses, tmp_path / "t.raw64"):
        result = skipline.trace(source, STANDARD_MACHINE)
        hits = [level.hits for level in result.levels]
        assert [*hits, result.memory_lines_read] == KNOWN[name]
        assert result.accesses == result.line_ops == 10_000_000


def test_addresses_of_bytes_and_of_lines_are_the_same_trace_as_their_file(tmp_path: Path) -> None:
    of_bytes = array("Q", (line * LINE_BYTES + line % LINE_BYTES for line in lines()))
    file = tmp_path / "t.raw64"
    file.write_bytes(of_bytes.tobytes())
    expected = counts(skipline.trace(file, STANDARD_MACHINE))
    assert counts(skipline.trace(of_bytes, STANDARD_MACHINE)) == expected
    assert counts(skipline.trace(lines(), STANDARD_MACHINE, unit="line")) == expected
    assert expected["references"] == REFERENCES


@pytest.mark.parametrize("unit", ["byte", "line"])
def test_kinds_are_those_of_a_text_trace(tmp_path: Path, unit: str) -> None:
    kinds = bytes((STORE, LOAD, FETCH, LOAD, STORE, LOAD, LOAD)[at % 7] for at in range(REFERENCES))
    text = (f"{kind} {line * LINE_BYTES:x}\n" for kind, line in zip(kinds, lines(), strict=True))
    # din: 0 load, 1 store, 2 instruction fetch.
    (tmp_path / "t.din").write_text("".join(text))
    expected = counts(skipline.trace(tmp_path / "t.din", STANDARD_MACHINE))
    assert expected["levels"][1]["writebacks"] > 0 and expected["fetches_left_out"] > 0
    if unit == "line":
        result = skipline.trace(lines(), STANDARD_MACHINE, kinds=kinds, unit="line")
    else:
        addresses = array("Q", (line * LINE_BYTES for line in lines()))
        result = skipline.trace(addresses, STANDARD_MACHINE, kinds=kinds)
    assert counts(result) == expected


def test_a_modification_counts_as_a_load_and_leaves_a_modified_line() -> None:
    conflicting = array("Q", (64 * at for at in range(9)))
    kinds = bytes([MODIFY]) * 9
    l1 = skipline.trace(conflicting, STANDARD_MACHINE, kinds=kinds, unit="line").levels[0]
    assert l1.references["load"] == {"hits": 0, "misses": 9}
    assert l1.writebacks == 1


def test_arrays_of_numpy_are_taken_with_any_step() -> None:
    numpy = pytest.importorskip("numpy")
    expected = counts(skipline.trace(lines(), STANDARD_MACHINE, unit="line"))
    twice = numpy.repeat(numpy.asarray(lines()), 2)
    assert counts(skipline.trace(twice[::2], STANDARD_MACHINE, unit="line")) == expected


@pytest.mark.parametrize("kind", ["int16", "uint32", "int64", ">u8", "list"])
def test_integers_of_any_type_are_addresses_and_kinds(kind: str) -> None:
    numpy = pytest.importorskip("numpy")
    addresses = numpy.tile(numpy.arange(64, dtype="uint64") * LINE_BYTES, 4)
    kinds = numpy.tile(numpy.array([LOAD, STORE], dtype="uint8"), 128)
    expected = counts(skipline.trace(addresses, STANDARD_MACHINE, kinds=kinds))
    assert expected["levels"][0]["hits"] == 3 * 64
    if kind == "list":
        given = addresses.tolist(), kinds.tolist()
    else:
        given = addresses.astype(kind), kinds.astype(kind)
    assert counts(skipline.trace(given[0], STANDARD_MACHINE, kinds=given[1])) == expected


def test_other_machines_tell_the_same_kind_of_result_from_an_array() -> None:
    result = skipline.trace(lines(), "skylake-gold-6140", unit="line", timed=True, explain=True)
    assert result.simulated_ns is not None and result.simulated_ns > 0
    kinds = result.levels[0].miss_kinds
    assert kinds is not None
    assert kinds.hits == result.levels[0].hits


def test_progress_is_told_and_may_stop_the_replay() -> None:
    def stop(_references: int, fraction: float | None) -> None:
        assert fraction is not None and 0 < fraction <= 1
        raise KeyError("enough")

    # Slow enough to last longer than the first report takes.
    with pytest.raises(KeyError, match="enough"):
        skipline.trace(
            skipline.standard_trace("64mib-random"), STANDARD_MACHINE, timed=True, progress=stop
        )


@pytest.mark.parametrize(
    ("source", "how", "expected"),
    [
        (array("Q"), {}, "addresses: the array holds no references"),
        ([], {}, "addresses: the array holds no references"),
        (array("i", [1, -2]), {}, "addresses: index 1 is -2; allowed: whole numbers from 0 to"),
        (array("d", [1.0]), {}, "addresses: an array of float64"),
        ([1, 1 << 64], {}, "addresses: index 1 is 18446744073709551616"),
        (memoryview(bytes(64)).cast("B").cast("Q", (2, 4)), {}, "more than one dimension"),
        (array("Q", [1, 2]), {"kinds": b"\0"}, "kinds: 1 for 2 addresses"),
        (array("Q", [1, 2]), {"kinds": b"\0\4"}, "index 1 kind 4; allowed are 0 (load)"),
        (array("Q", [1]), {"kinds": array("I", [256])}, "kinds: index 0 is 256; allowed"),
        (array("Q", [1]), {"unit": "page"}, "unit: page"),
        (array("Q", [1]), {"trace_format": "din"}, "no trace_format"),
        ("t.raw64", {"unit": "line"}, "a file says itself"),
        ("missing.raw64", {}, "cannot be opened"),
    ],
)
def test_what_is_no_trace_is_refused_and_why(
    source: Any, how: dict[str, Any], expected: str
) -> None:
    with pytest.raises(skipline.InputError, match=expected.replace("(", r"\(").replace(")", r"\)")):
        skipline.trace(source, STANDARD_MACHINE, **how)


def test_more_memory_than_can_be_simulated_is_refused() -> None:
    every_gib = array("Q", (at << 30 for at in range(300)))
    with pytest.raises(skipline.InputError, match="255 different GiB"):
        skipline.trace(every_gib, STANDARD_MACHINE)


def test_a_name_that_is_no_standard_trace_is_refused() -> None:
    with pytest.raises(skipline.InputError, match="4mib-sequential"):
        skipline.standard_trace("1gib")
