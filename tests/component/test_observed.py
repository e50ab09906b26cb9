"""What is read of an observed scenario, and when do model and window disagree?"""

from pathlib import Path

import pytest

from skipline.diff.change import Change
from skipline.diff.comparison import Found
from skipline.host import explanation, observed

SCENARIO = """\
# Written by `skipline-host observe` from a window of 10 s.
title = "A server, ens1f0"

platform = "skylake-gold-6140"  # assumed: the nearest known platform: Skylake-SP
cores = 4  # measured: /proc/stat: CPUs 2-5
core_way_mask = 0x1f  # read: resctrl: schemata of group web
page_size = "2M"  # stated: --set
# traffic is left to the platform  # assumed: no counter tells it

[[tenant]]
name = "ssds"  # measured: SSD nvme0n1 read 1.00 GB/s
cores = 1  # assumed: a job, and a core, for each SSD
# block_io.order is that of the main tenant  # assumed: no counter tells it

# Asked (--set KEY=VALUE); until then what stands above, or the simulator's default:
#   rx_descriptors: how many receive descriptors has a queue?
#   nic: which known card is most like 1af4:1041?

# Seen, and not in this scenario:
#   program l2fwd (process 4711) used 4.0 CPUs

# Not read:
#   frames of eno1: its driver does not report them
"""


@pytest.fixture
def seen(tmp_path: Path) -> observed.Observed:
    file = tmp_path / "mine.toml"
    file.write_text(SCENARIO)
    return observed.read(str(file))


def test_each_value_has_its_kind_and_source(seen: observed.Observed) -> None:
    kinds = {value.key: (value.value, value.origin) for value in seen.values}
    assert kinds == {
        "platform": ('"skylake-gold-6140"', "assumed"),
        "cores": ("4", "measured"),
        "core_way_mask": ("0x1f", "read"),
        "page_size": ('"2M"', "stated"),
        "traffic": (None, "assumed"),
        "tenant.0.name": ('"ssds"', "measured"),
        "tenant.0.cores": ("1", "assumed"),
        "tenant.0.block_io.order": (None, "assumed"),
    }
    assert seen.values[0].source == "the nearest known platform: Skylake-SP"
    assert seen.asked[1] == "nic: which known card is most like 1af4:1041?"
    assert seen.unread == ["frames of eno1: its driver does not report them"]


def test_what_is_stated_later_is_neither_assumed_nor_asked(seen: observed.Observed) -> None:
    left = seen.without({"rx_descriptors", "platform", "tenant.0.cores"})
    assert [value.key for value in left.of_origin("assumed")] == [
        "traffic",
        "tenant.0.block_io.order",
    ]
    assert [text.partition(":")[0] for text in left.asked] == ["nic"]


def test_a_scenario_that_was_not_observed_has_no_sources(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('platform = "skylake-gold-6140"  # ours\ncores = 4\n')
    assert observed.read(str(file)) == observed.Observed([], [], [])


def test_windows_are_beside_the_scenario() -> None:
    beside = observed.windows_beside
    assert beside(Path("a/mine.toml")) == Path("a/mine.windows.jsonl")
    assert beside(Path("a/node.1")) == Path("a/node.1.windows.jsonl")


@pytest.mark.parametrize(
    ("name", "model", "window", "expected"),
    [
        ("pcie_write_hit_rate", 82.0, 73.0, False),
        ("pcie_write_hit_rate", 82.0, 46.0, True),
        ("pcie_write_lines_per_s", 121e6, 120e6, False),
        ("pcie_write_lines_per_s", 121e6, 80e6, True),
        # Another program moves a part of a GB/s that the model does not know.
        ("dram_read_gbytes_per_s", 0.1, 0.9, False),
        ("dram_read_gbytes_per_s", 0.1, 2.2, True),
        # The other way round nothing excuses the model.
        ("dram_read_gbytes_per_s", 0.9, 0.1, True),
    ],
)
def test_a_number_disagrees_beyond_what_is_taken_for_agreement(
    name: str, model: float, window: float, expected: bool
) -> None:
    change = Change(name, model, window, window - model, None, None, 0)
    found = Found({}, change, "percent" if name.endswith("rate") else "1/s", significant=True)
    assert explanation.differs(found) is expected
