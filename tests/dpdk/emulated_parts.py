"""Slice tables of published parts, for machines whose own slice function is not known.

The functions here are written from the published masks alone and share no code with the library:
tests judge by them where the library says that a line lies.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

LINE_BYTES = 64

# EuroSys'19: bit i of the slice of Haswell's eight is the parity of the address under mask i.
XOR_MASKS = [0x1B5F575440, 0x2EB5FAA880, 0x3CCCC93100, 0x31AEEB1200]

# github jdmccalpin/Intel_Address_Hash@88912ea, PermSelectMasks_SKX_18.
SKYLAKE_18_MASKS = [
    *(0x4C8FC0000, 0x1D05380000, 0x262B8C0000, 0x41F500000, 0x2C6D780000, 0x2CD5140000),
    *(0x21D80C0000, 0x3B3F480000, 0x3A03500000, 0x3033280000, 0, 0x1469B40000),
]

# Medians of the read latency in core cycles, cores 0 to 2 of a Xeon Gold 6134 (EuroSys'19).
GOLD_6134_CYCLES = [
    [
        *(41.5, 49.4, 43.5, 49.4, 49.4, 53.3, 49.4, 59.3, 63.2),
        *(57.3, 63.2, 69.1, 65.2, 65.2, 67.2, 73.1, 73.1, 73.1),
    ],
    [
        *(47.4, 45.4, 45.4, 45.4, 43.5, 45.4, 55.3, 47.4, 53.3),
        *(57.3, 55.3, 57.3, 69.1, 65.2, 63.2, 67.2, 67.2, 67.2),
    ],
    [
        *(61.2, 53.3, 59.3, 57.3, 53.3, 49.4, 51.3, 47.4, 41.5),
        *(59.3, 53.3, 47.4, 63.2, 63.2, 57.3, 53.3, 65.2, 57.3),
    ],
]


def parity(value: int) -> int:
    """Return 1 if an odd number of bits is set."""
    return value.bit_count() % 2


@dataclass(frozen=True)
class Part:
    """A part's slice function, and the same as a table."""

    name: str
    slices: int
    slice_of: Callable[[int], int]
    base: list[int]
    perm_masks: list[int]

    def write_table(self, path: Path, covered_bits: int = 38) -> Path:
        """Write a table file that holds for addresses below 2 to the power `covered_bits`."""
        masks = [mask % (1 << covered_bits) for mask in self.perm_masks]
        path.write_text(
            f'part = "{self.name}"\nsource = "published masks"\nslices = {self.slices}\n'
            f"valid_bits = [6, {covered_bits - 1}]\nperm_masks = {masks}\nbase = {self.base}\n"
        )
        return path


def xor_slice(address: int) -> int:
    """Slice of an address on the eight-slice Haswell."""
    return sum(parity(address & mask) << bit for bit, mask in enumerate(XOR_MASKS[:3]))


def haswell_8() -> Part:
    """Eight slices under XOR masks: the xeon E5-2667 v3.

    The three masks are independent over the lowest address bits, so a sequence of 64 lines shows
    every slice; each set of higher bits is answered by the position that moves the slice equally.
    """
    position_bits = 6
    low = LINE_BYTES << position_bits
    base = [xor_slice(place * LINE_BYTES) for place in range(1 << position_bits)]
    moves = [base.index(1 << bit) for bit in range(3)]
    perm_masks = [0] * position_bits
    for bit in range(6 + position_bits, 38):
        moved = xor_slice(1 << bit)
        position = 0
        for slice_bit in range(3):
            position ^= moves[slice_bit] if moved >> slice_bit & 1 else 0
        for place in range(position_bits):
            perm_masks[place] |= (position >> place & 1) << bit
    assert all(mask % low == 0 for mask in perm_masks)
    return Part("Xeon E5-2667 v3, 8 slices", 8, xor_slice, base, perm_masks)


def skylake_18() -> Part:
    """18 slices: the published permutation over the stand-in sequence of the simulator."""
    position_bits, share_bits, slices = 12, 4, 18

    def slice_at(position: int) -> int:
        whole = 0
        for mask in XOR_MASKS:
            form = mask // LINE_BYTES % (1 << position_bits)
            whole = whole << 1 | parity(position & form)
        for bit in range(share_bits, position_bits):
            whole = whole << 1 | (position >> bit & 1)
        return whole * slices >> position_bits

    def slice_of(address: int) -> int:
        position = address // LINE_BYTES % (1 << position_bits)
        for place, mask in enumerate(SKYLAKE_18_MASKS):
            position ^= parity(address & mask) << place
        return slice_at(position)

    base = [slice_at(position) for position in range(1 << position_bits)]
    return Part("Xeon Gold 6134, 18 slices", slices, slice_of, base, SKYLAKE_18_MASKS)


def write_gold_6134_latencies(path: Path) -> Path:
    """Write the latencies file of the Gold 6134's first three cores."""
    path.write_text(
        'part = "Xeon Gold 6134"\nsource = "EuroSys\'19, decoded plots"\nkind = "measured"\n'
        f"cycles = {GOLD_6134_CYCLES}\n"
    )
    return path


if __name__ == "__main__":
    haswell_8().write_table(Path(sys.argv[1]))
