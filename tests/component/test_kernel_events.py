"""Are the copied entries of the kernel's events those of its own JSON files?

Debian's package linux-source-6.12 has them: $SKIPLINE_KERNEL_SOURCE names the unpacked folder.
"""

import os
from pathlib import Path

import pytest

import kernel_events

_UNPACKED = Path("/usr/src/linux-source-6.12")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            {"EventCode": "0x35", "UMask": "0x4", "UMaskExt": "0xcc43fd"},
            {"event": 0x35, "umask": 0xCC43FD04},
        ),
        (
            {"EventCode": "0x35", "UMask": "0x24", "Filter": "config1=0x4903300000000"},
            {"event": 0x35, "umask": 0x24, "config1": 0x4903300000000},
        ),
        (
            {"EventCode": "0x35", "UMask": "0x3", "Filter": "filter_opc=0x1c8,filter_tid=0x3e"},
            {"event": 0x35, "umask": 3, "opc": 0x1C8, "tid": 0x3E},
        ),
        (
            {"EventCode": "0x83", "UMask": "0x1", "PortMask": "0x01", "FCMask": "0x07"},
            {"event": 0x83, "umask": 1, "port": 1, "fc": 7},
        ),
        (
            {"EventCode": "0x83", "UMask": "0x7080004", "PortMask": "0x80", "FCMask": "0x07"},
            {"event": 0x83, "umask": 4, "port": 0x80, "fc": 7},
        ),
        ({"EventCode": "0x0a", "RdWrMask": "0x1"}, {"event": 10, "rw": 1}),
    ],
)
def test_words_are_those_of_an_entry(event: dict[str, str], expected: dict[str, int]) -> None:
    assert kernel_events.words(event) == expected


def test_each_copied_entry_is_that_of_the_kernel() -> None:
    folder = Path(os.environ.get("SKIPLINE_KERNEL_SOURCE", _UNPACKED))
    if not (folder / kernel_events.X86).is_dir():
        pytest.skip(f"{folder}: no unpacked linux-source-6.12")
    assert kernel_events.differences(folder) == []
