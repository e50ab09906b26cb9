"""Sizes of rings and ways that figures show: those of the first sentence of the same run."""

import re
from pathlib import Path

import pytest

import skipline
from skipline.report import ring_rules
from skipline.runs import rings
from skipline.runs.rings import Rings

BRIEF = {"run.batch_packets": 256, "run.max_batches": 10}
TWO_PORTS = "examples/two-ports-six-cores.toml"
SENTENCE = re.compile(
    r"(?:take|together take) (?P<rings>[\d.]+) MiB(?:, the \d+ DDIO ways? holds? (?P<ways>[\d.]+)"
    r" MiB| of the (?P<of>[\d.]+) MiB of)"
)


def of_run(scenario: str, settings: dict[str, object]) -> tuple[Rings | None, str]:
    """Return the sizes as figures have them, and the answer of the run."""
    result = skipline.run(scenario, {**BRIEF, **settings})
    numbers = {
        entry.metric: float(entry.value)
        for entry in result.entries()
        if entry.component is None and entry.value is not None
    }
    way_bytes = ring_rules._way_bytes(result.scenario, scenario)
    return rings.of_run(result.scenario, numbers, way_bytes), result.answer


@pytest.mark.parametrize(
    ("scenario", "settings"),
    [
        # Six cores, each with a ring at both ports.
        (TWO_PORTS, {}),
        (TWO_PORTS, {"packet_bytes": 60, "rx_descriptors": 4096}),
        # Two tenants, whose rings share the ways.
        ("examples/forward-2x25g.toml", {"rx_descriptors": 4096}),
        ("examples/remote-socket.toml", {"rx_descriptors": 4096}),
        (TWO_PORTS, {"hardware.llc.sets_per_slice": 1024}),
    ],
)
def test_rings_and_ways_are_those_of_the_run_s_first_sentence(
    scenario: str, settings: dict[str, object]
) -> None:
    known, answer = of_run(scenario, settings)
    told = SENTENCE.search(answer)
    assert known is not None and told is not None, answer
    mebibytes = [float(text) for text in (told["rings"], told["ways"] or told["of"])]
    assert [size / (1 << 20) for size in known] == pytest.approx(mebibytes, rel=5e-3)


def test_without_ddio_there_are_no_ways_to_fill() -> None:
    known, answer = of_run(TWO_PORTS, {"ddio_ways": 0})
    assert known is None and "DDIO is off" in answer


def test_rings_fill_the_ways_between_the_values_of_a_sweep() -> None:
    ways = 3_000.0
    assert rings.filled_at([(2, Rings(4_000, ways)), (1, Rings(2_000, ways))]) == 1.5
    assert rings.filled_at([(1, Rings(2_000, ways)), (2, Rings(ways, ways))]) == 2
    assert rings.filled_at([(1, Rings(1_000, ways)), (2, Rings(2_000, ways))]) is None
    # More ways hold the same rings.
    assert rings.filled_at([(2, Rings(5_000, 4_000)), (4, Rings(5_000, 8_000))]) == 2.5
    assert rings.filled_at([]) is None


def test_a_sweep_has_its_rule_where_the_sentences_change(tmp_path: Path) -> None:
    store = tmp_path / "rings.duckdb"
    axes = {"rx_descriptors": [128, 512], "cores": [3, 6]}
    skipline.sweep(TWO_PORTS, axes, BRIEF, store=store)
    # The setting and the metric have one name.
    skipline.sweep(TWO_PORTS, {"ddio_ways": [2, 11]}, {**BRIEF, "cores": 6}, store=store)
    with skipline.Store(store) as opened:
        of_ways = ring_rules.read(opened, 2, "ddio_ways", None)
        along = ring_rules.read(opened, 1, "rx_descriptors", "cores")
        fixed = ring_rules.read(opened, 1, "cores", "rx_descriptors")
    # Rings of 1024 take 18 MiB, as much as eight ways of 2.25 MiB hold.
    assert [(rule.value, rule.curve) for rule in of_ways.rules] == [(8, None)]
    # 12 rings of 24 lines fill 4.5 MiB at 256 descriptors each, 6 of them at 512.
    assert [(rule.value, rule.curve) for rule in along.rules] == [(512, "3"), (256, "6")]
    # Of three cores 512 fill the ways; 128 fit with any number of them.
    assert [(rule.value, rule.curve) for rule in fixed.rules] == [(3, "512")]
