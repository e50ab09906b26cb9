"""Keys that are offered for `--set` are those of scenarios."""

from collections.abc import Iterator

import pytest

from command_line import L2FWD
from skipline import _core
from skipline._core import InputError
from skipline.scenarios import scenario_keys

DEEPEST = 4


def keys(begun: str = "", depth: int = 0) -> Iterator[str]:
    """Yield every key below the beginning of one."""
    for step in scenario_keys.completions(begun):
        if step.text.endswith("="):
            yield step.text.removesuffix("=")
        elif depth < DEEPEST:
            yield from keys(step.text, depth + 1)


def refusal(key: str) -> str:
    """What is said against the key with a value that none takes."""
    # An entry of a list is there if the file has the list; a single one is numbered 0 without it.
    alone = (
        key.replace(".0.", ".", 1)
        if key.startswith(("co_runner.0.", "event.0.", "tenant.0."))
        else key
    )
    with pytest.raises(InputError) as refused:
        _core.check_scenario(L2FWD, [(alone, "[[[]]]")])
    return str(refused.value)


@pytest.mark.parametrize("key", list(keys()))
def test_a_key_that_is_offered_is_known(key: str) -> None:
    assert "unknown key" not in refusal(key)


def test_keys_of_the_file_are_offered() -> None:
    offered = set(keys())
    assert {"rx_descriptors", "traffic.pattern", "run.max_batches"} <= offered
    assert {"tenant.0.traffic.pattern", "co_runner.0.cores"} <= offered
    assert {"hardware.dram.path_ns", "hardware.llc.replacement"} <= offered


@pytest.mark.parametrize(
    ("begun", "values"),
    [
        ("evict_on_dma_read=", {"true", "false"}),
        ("traffic.pattern=", {"fixed", "random", "trains"}),
        ("tenant.0.nic=", {"connectx-5", "e810"}),
        ("ssd=", {"p4800x"}),
        ("platform=", {"skylake-gold-6140"}),
        ("hardware.llc.inclusion=", {"inclusive"}),
        ("rx_descriptors=", {"512", "4096"}),
        ("packet_bytes=", set()),
        ("nosuch=", set()),
        ("nosuch.key", set()),
    ],
)
def test_values_are_offered_where_they_can_be_listed(begun: str, values: set[str]) -> None:
    found = {step.text for step in scenario_keys.completions(begun)}
    assert {f"{begun}{value}" for value in values} <= found
    assert bool(found) == bool(values)


def test_every_key_has_a_label_for_people() -> None:
    # Their meanings go on with those of the keys before them.
    continued = {"hardware.nic.rx_refill_ring_part", "hardware.nic.tx_inline_from_queues"}
    labels = {key: scenario_keys.label(key) for key in keys()}
    assert {key for key, label in labels.items() if label.words == key} == continued
    for key, label in labels.items():
        last = key.rpartition(".")[2]
        assert label.words[0].isupper() or key in continued, key
        assert len(label.words) <= 110 and not label.words.endswith((",", " the")), key
        assert bool(label.unit) == (
            last.endswith(tuple(scenario_keys._UNITS)) and "_per_" not in last
        )


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("rx_descriptors", "Receive descriptors per queue"),
        ("tenant.0.packet_bytes", "Frame size without FCS, B"),
        ("offered_gbps", "Offered load on the wire of each port, Gbit/s"),
        ("block_io.block_bytes", "Size of a block, B"),
        # Words before a colon say when the key counts.
        ("traffic.arrivals", "Arrival times of packets"),
        ("rng_calls", "Extra std::mt19937 calls per packet"),
        ("hardware.llc.slices", "Number of slices of the socket"),
        ("no.such", "no.such"),
    ],
)
def test_labels_are_how_meanings_begin(key: str, text: str) -> None:
    assert scenario_keys.label(key).text == text


def test_abbreviations_keep_their_capitals_within_a_sentence() -> None:
    assert scenario_keys.label("core_way_mask").within == "CAT mask of the cores"
    assert scenario_keys.label("cores").within == "cores in use"
