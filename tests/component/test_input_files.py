"""The core names every file that decides the result of a scenario, where it finds it."""

import struct
from pathlib import Path

import pytest

from skipline import InputError, _core, resources

SCENARIO = """
platform = "platform.toml"
application = "l2-forward"
nic = "nic.toml"
ssd = "xg5"
[traffic]
pcap = "one.pcap"
[[tenant]]
name = "other"
nic = "xl710"
[[tenant]]
name = "storage"
application = "block-io"
[[tenant]]
name = "other-storage"
application = "block-io"
ssd = "below/ssd.toml"
"""
# At the paths that the scenario's folder or this one has them; the others are part of the program.
READ = {
    "below/scenario.toml": SCENARIO,
    "below/platform.toml": resources.read_text("platforms/skylake-gold-6140.toml"),
    "below/nic.toml": resources.read_text("devices/nic/connectx-5.toml"),
    "below/ssd.toml": resources.read_text("devices/ssd/xg5.toml"),
    "devices/nic/xl710.toml": resources.read_text("devices/nic/xl710.toml"),
}
BUILT_IN = {
    # Named by the scenario, by a file that it names, by one that this extends; costs of software.
    "devices/ssd/xg5.toml",
    "devices/parts/nvme.toml",
    "platforms/parts/skylake-sp.toml",
    "platforms/parts/ddr4.toml",
    "devices/nic/connectx-5.toml",
    "devices/parts/mlx5.toml",
    "software/packets/l2-forward.toml",
    "software/blocks/block-io.toml",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in READ.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    header = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 17, 1)
    frame = bytes(12) + b"\x08\x00" + bytes(50)
    Path("below/one.pcap").write_bytes(header + struct.pack("<IIII", 0, 0, 64, 64) + frame)
    return tmp_path


def test_every_file_that_is_read_is_named() -> None:
    found = _core.resolve_scenario("below/scenario.toml", [])[1]
    assert {*READ, *BUILT_IN, "below/one.pcap"} <= set(found)
    assert sorted(found) == sorted(set(found))
    built_in = set(found) - {*READ, "below/one.pcap"}
    assert built_in <= set(_core.builtin_files())


@pytest.mark.parametrize("name", [*READ, *sorted(BUILT_IN), "below/one.pcap"])
def test_every_file_that_is_named_is_read(name: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text("damaged = ")
    with pytest.raises(InputError, match=name):
        _core.resolve_scenario("below/scenario.toml", [])[1]


def test_a_file_of_a_setting_is_named_in_place_of_the_scenario_s_own() -> None:
    overrides = [("platform", '"skylake-gold-6140"'), ("nic", '"connectx-5"')]
    found = _core.resolve_scenario("below/scenario.toml", overrides)[1]
    assert {"platforms/skylake-gold-6140.toml", "devices/nic/connectx-5.toml"} <= set(found)
    assert not {"below/platform.toml", "below/nic.toml"} & set(found)
