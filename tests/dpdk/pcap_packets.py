"""Packets with a number and a checksum each, as capture files and as a judge of what came back."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKETS = 1_000_000
FEW_PACKETS = 100_000

HERE, THERE = bytes.fromhex("02000000aa01"), bytes.fromhex("02000000aa02")
_GLOBAL = struct.Struct("<IHHiIII")
_RECORD = struct.Struct("<IIII")
# Of frames without check sequence: one line, a bit more, several, a second mbuf never.
_FRAME_BYTES = (60, 66, 98, 130, 250)
_HEADER_BYTES = 42


class Capture(NamedTuple):
    """A capture file and how many packets it has."""

    path: Path
    packets: int


def _checksum(header: bytes) -> int:
    total: int = sum(struct.unpack(f">{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF


def frame(number: int) -> bytes:
    """Ethernet, IPv4 with a right checksum, UDP, then number, filling and the CRC of both."""
    size = _FRAME_BYTES[number % len(_FRAME_BYTES)]
    ip = struct.pack(
        ">BBHHHBBH4s4s", 0x45, 0, size - 14, number & 0xFFFF, 0, 64, 17, 0, b"\n\0\0\1", b"\n\0\0\2"
    )
    ip = ip[:10] + struct.pack(">H", _checksum(ip)) + ip[12:]
    udp = struct.pack(">HHHH", 1000 + number % 16, 2000, size - 34, 0)
    body = struct.pack(">Q", number) + bytes([number & 0xFF]) * (size - _HEADER_BYTES - 12)
    return THERE + HERE + b"\x08\0" + ip + udp + body + struct.pack(">I", zlib.crc32(body))


def write(path: Path, packets: int, first: int = 0) -> Path:
    """Write a capture of packets numbered from `first` on."""
    with path.open("wb", buffering=1 << 20) as file:
        file.write(_GLOBAL.pack(0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(first, first + packets):
            data = frame(number)
            file.write(_RECORD.pack(0, 0, len(data), len(data)) + data)
    return path


def read(path: Path) -> Iterator[bytes]:
    """Packets of a capture, in order."""
    data = path.read_bytes()
    place = _GLOBAL.size
    while place < len(data):
        length = _RECORD.unpack_from(data, place)[2]
        place += _RECORD.size
        yield data[place : place + length]
        place += length


def judge(paths: list[Path], packets: int) -> dict[str, int]:
    """Count what is lost, doubled, out of order in its file, and damaged among `packets` sent.

    A packet is whole if it is what was sent with its two addresses swapped.
    """
    seen: Counter[int] = Counter()
    damaged = disordered = 0
    for path in paths:
        last = -1
        for data in read(path):
            number = int.from_bytes(data[_HEADER_BYTES : _HEADER_BYTES + 8])
            sent = frame(number)
            if data != sent[6:12] + sent[:6] + sent[12:]:
                damaged += 1
                continue
            seen[number] += 1
            disordered += number < last
            last = number
    whole = sum(1 for number in seen if number < packets)
    return {
        "lost": packets - whole,
        "doubled": seen.total() - len(seen),
        "disordered": disordered,
        "damaged": damaged,
    }
