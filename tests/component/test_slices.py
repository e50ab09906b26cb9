"""What `skipline.slices` says of tables, latencies and arrays."""

from array import array
from pathlib import Path
from typing import Any

import pytest

from skipline.slices import InputError, Latencies, SliceMap

# Its arrays are buffers for Python, and for type checkers from Python 3.12 on.
np: Any = pytest.importorskip("numpy")
TABLE = Path(__file__).parents[2] / "docs/reference/slices/haswell-e5-2667v3.slices.toml"
LATENCIES = TABLE.with_name("haswell-e5-2667v3.latencies.toml")
# The published masks of eight slices: bit i of a slice number is a parity under mask i.
MASKS = (0x1B_5F57_5440, 0x2E_B5FA_A880, 0x3C_CCC9_3100)


def by_masks(address: int) -> int:
    return sum(((address & mask).bit_count() & 1) << bit for bit, mask in enumerate(MASKS))


def addresses(count: int) -> "array[int]":
    return array("Q", ((at * 0x9E37_79B9_7F4A_7C15) % (1 << 38) for at in range(count)))


def test_the_table_of_the_documentation_is_the_published_function() -> None:
    table = SliceMap.read(TABLE)
    assert (table.slices, table.part) == (8, "Xeon E5-2667 v3")
    asked = addresses(20_000)
    expected = [by_masks(address) for address in asked]
    assert list(table.slices_of(asked)) == expected
    assert [table.slice_of(address) for address in asked[:100]] == expected[:100]


def test_published_functions_are_found_by_name() -> None:
    table = SliceMap.published("skx-18")
    assert (table.slices, table.part) == (18, "Skylake-SP and Cascade Lake, 18 slices")
    assert [table.slice_of(64 * line) for line in range(8)] == [0, 11, 2, 9, 7, 12, 5, 14]
    assert "BSD-3-Clause" in table.source
    with pytest.raises(InputError, match=r'no slice function "skx-17" .* skx-16, skx-18'):
        SliceMap.published("skx-17")


def test_numpy_arrays_of_any_stride_are_taken_and_the_answer_is_one() -> None:
    table = SliceMap.read(TABLE)
    asked = np.frombuffer(addresses(1000), dtype=np.uint64)
    slices = np.asarray(table.slices_of(asked[::3]))
    assert slices.dtype == np.uint16
    assert slices.tolist() == [by_masks(int(address)) for address in asked[::3]]
    assert len(table.slices_of(np.empty(0, dtype=np.uint64))) == 0


def test_what_is_not_covered_or_no_address_is_refused() -> None:
    table = SliceMap.read(TABLE)
    with pytest.raises(InputError, match="does not cover physical address 0x4000000000"):
        table.slice_of(1 << 38)
    with pytest.raises(InputError, match="does not cover"):
        table.slices_of(array("Q", [0, 1 << 38]))
    with pytest.raises(InputError, match="numpy's uint64"):
        table.slices_of(np.zeros(4, dtype=np.float64))
    with pytest.raises(InputError, match=r"physical_addresses: its integers .* other order"):
        table.slices_of(np.arange(4).astype(np.dtype(np.uint64).newbyteorder("S")))


def test_a_broken_table_is_refused_with_file_and_key(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(TABLE.read_text().replace("6, 7]", "6, 8]"))
    with pytest.raises(
        InputError, match=r"broken.toml: `base`: entry 7 is slice 8; allowed: 0 to 7"
    ):
        SliceMap.read(broken)
    with pytest.raises(InputError, match=r"nowhere.toml: cannot be read"):
        SliceMap.read(tmp_path / "nowhere.toml")


def test_latencies_of_a_platform_are_those_of_its_ring(tmp_path: Path) -> None:
    latencies = Latencies.modelled("haswell-e5-2667v3")
    assert (latencies.cores, latencies.slices, latencies.kind) == (8, 8, "modelled")
    # Slices of the core's own ring direction are nearer, whatever the number of hops.
    assert {slice_ % 2 for slice_ in latencies.nearest(3)[:4]} == {1}
    assert latencies.nearest(3)[0] == 3
    cycles = [latencies.cycles(0, slice_) for slice_ in range(8)]
    assert min(cycles) == cycles[0]
    assert latencies.shared([2]) == 2
    file = tmp_path / "latencies.toml"
    file.write_text(latencies.to_toml())
    again = Latencies.read(file)
    assert (again.part, again.kind, again.to_toml()) == (
        latencies.part,
        latencies.kind,
        latencies.to_toml(),
    )


def test_the_latencies_of_the_documentation_are_the_modelled_ones() -> None:
    assert LATENCIES.read_text() == Latencies.modelled("haswell-e5-2667v3").to_toml()


def test_cores_and_slices_that_are_not_there_are_refused() -> None:
    latencies = Latencies.modelled("haswell-e5-2667v3")
    with pytest.raises(InputError, match="no latencies of core 8; there are: 0 to 7"):
        latencies.nearest(8)
    with pytest.raises(InputError, match="no slice 8; there are: 0 to 7"):
        latencies.cycles(0, 8)
    with pytest.raises(InputError, match="no cores"):
        latencies.shared([])
    with pytest.raises(InputError, match="no-such-platform"):
        Latencies.modelled("no-such-platform")
