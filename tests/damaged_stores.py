"""Ways in which the file of a store is damaged, by name and at random."""

import random
from collections.abc import Callable

Damage = Callable[[bytes], bytes]

HEAD_BYTES, BLOCK_BYTES = 12_288, 1 << 18
_LONGEST_ZEROS = 1 << 20


def cut(share: float) -> Damage:
    """Cut a file short to a share of its length."""
    return lambda content: content[: int(len(content) * share)]


def cut_at(length: int) -> Damage:
    """Cut a file short to a length."""
    return lambda content: content[:length]


def zeros(share: float, length: int) -> Damage:
    """Have zeros from a share of the length on, as after a crash of the file system.

    They begin earlier where only zeros would be replaced: blocks that are not full end with them.
    """

    def damaged(content: bytes) -> bytes:
        begin = int(len(content) * share)
        while not any(content[begin : begin + length]):
            begin -= 4096
        end = min(begin + length, len(content))
        return content[:begin] + bytes(end - begin) + content[end:]

    return damaged


def flip(*shares: float) -> Damage:
    """Flip a bit in each byte at some shares of the length."""

    def damaged(content: bytes) -> bytes:
        changed = bytearray(content)
        for share in shares:
            changed[int(len(content) * share)] ^= 0x10
        return bytes(changed)

    return damaged


NAMED: dict[str, Damage] = {
    **{f"cut to {share} %": cut(share / 100) for share in (5, 20, 35, 50, 65, 80, 95, 99)},
    **{f"cut to {length} bytes": cut_at(length) for length in (1, 11, 12, 100, 4096, HEAD_BYTES)},
    "without its last byte": lambda content: content[:-1],
    "one bit flipped": flip(0.5),
    "forty bits flipped": flip(*(at / 41 for at in range(1, 41))),
    "its kind flipped": lambda content: content[:8] + b"EUCK" + content[12:],
    "its first page flipped": lambda content: content[:5000] + b"\x55" + content[5001:],
    "zeros at the beginning": zeros(0, 4096),
    "zeros in place of its last block": lambda content: content[:-BLOCK_BYTES] + bytes(BLOCK_BYTES),
    "a page of zeros": lambda content: (
        content[:HEAD_BYTES] + bytes(4096) + content[HEAD_BYTES + 4096 :]
    ),
    "a block of zeros": lambda content: (
        content[: HEAD_BYTES + BLOCK_BYTES]
        + bytes(BLOCK_BYTES)
        + content[HEAD_BYTES + 2 * BLOCK_BYTES :]
    ),
}


def at_random(content: bytes, chosen: random.Random) -> bytes:
    """Return a file that is cut short, or has flipped bits, zeros or foreign bytes somewhere."""
    kind = chosen.choice(("cut", "flips", "zeros", "foreign"))
    begin = chosen.randrange(len(content))
    if kind == "cut":
        return content[:begin]
    changed = bytearray(content)
    if kind == "flips":
        for _ in range(chosen.choice((1, 1, 2, 10, 40))):
            changed[chosen.randrange(len(content))] ^= 1 << chosen.randrange(8)
        return bytes(changed)
    length = min(chosen.choice((1, 8, 512, 4096, 1 << 18, _LONGEST_ZEROS)), len(content) - begin)
    changed[begin : begin + length] = bytes(length) if kind == "zeros" else chosen.randbytes(length)
    return bytes(changed)
