"""Does the search find the best settings with few of them, and only what is allowed?"""

import json
import math
import random
from collections.abc import Sequence

import pytest

from command_line import L2FWD
from skipline import InputError, _core
from skipline.advice import burst, commands, goal, guidelines, knobs, search
from skipline.advice.evaluation import Candidate
from skipline.advice.goal import Goal, Target
from skipline.advice.knobs import Knob
from skipline.advice.search import Tried
from skipline.diff import bound

KNOBS = [
    Knob("ring", [str(2**power) for power in range(6, 13)], "4096", True),
    Knob("ways", ["0", "1", "2", "4", "6", "8"], "2", True),
    Knob("cores", ["1", "2", "4", "8"], "1", True),
    Knob("socket", ["0", "1"], "0", False),
    Knob("mask", ["a", "b", "c"], "a", False),
]


def landscape(seed: int) -> dict[str, dict[str, float]]:
    """Costs of each value: of an ordered knob with one valley, whose place is at random."""
    generator = random.Random(seed)
    found = {}
    for knob in KNOBS:
        valley = generator.randrange(len(knob.values))
        weight = generator.uniform(0.1, 1.0)
        costs = [weight * abs(at - valley) for at in range(len(knob.values))]
        if not knob.ordered:
            costs = [generator.random() for _ in knob.values]
        found[knob.key] = dict(zip(knob.values, costs, strict=True))
    return found


def cost(candidate: Candidate, costs: dict[str, dict[str, float]]) -> float:
    chosen = {knob.key: knob.now for knob in KNOBS} | dict(candidate)
    total = sum(costs[key][value] for key, value in chosen.items())
    # Rings and ways act together: a large ring is fine with many ways.
    return total + 0.3 * abs(math.log2(int(chosen["ring"])) - 6 - int(chosen["ways"]))


@pytest.mark.parametrize("seed", range(20))
def test_a_twentieth_of_all_settings_is_enough(seed: int) -> None:
    costs = landscape(seed)
    asked: list[Candidate] = []

    def attempt(candidates: Sequence[Candidate]) -> list[Tried]:
        asked.extend(candidates)
        return [Tried(one, 10 + cost(one, costs)) for one in candidates]

    budget = int(search.SHARE * search.combinations(KNOBS))
    best, *_ = search.search(KNOBS, budget, attempt)
    assert len(asked) == len(set(asked)) <= budget
    assert asked[0] == ()
    every = [
        10 + sum(costs[key][value] for key, value in chosen.items())
        + 0.3 * abs(math.log2(int(chosen["ring"])) - 6 - int(chosen["ways"]))
        for chosen in _all()
    ]  # fmt: skip
    assert best.cost is not None
    assert best.cost <= 1.03 * min(every)


def _all() -> list[dict[str, str]]:
    found: list[dict[str, str]] = [{}]
    for knob in KNOBS:
        found = [{**one, knob.key: value} for one in found for value in knob.values]
    return found


def test_what_breaks_a_bound_is_never_the_best() -> None:
    def attempt(candidates: Sequence[Candidate]) -> list[Tried]:
        return [Tried(one, None if dict(one).get("ways") == "8" else 1.0) for one in candidates]

    tried = search.search(KNOBS, 40, attempt)
    ends = [one for one in tried if one.cost is None]
    assert ends == tried[len(tried) - len(ends) :]


def test_knobs_have_only_values_that_the_machine_takes() -> None:
    fixed = (("rx_descriptors", "4096"), ("pool_buffers", "8191"))
    resolved = json.loads(_core.check_scenario(L2FWD, list(fixed)))
    found = {one.key: one for one in knobs.of_scenario(L2FWD, fixed, resolved, ())}
    assert "rx_descriptors" not in found  # it is stated, and stays
    assert found["ddio_ways"].now == "2"
    assert found["pool_cache"].now == "256"
    assert found["pool_cache"].values[0] == "0"
    assert found["prefetch.packets_ahead"].now == "32"  # a whole burst
    for knob in found.values():
        for value in set(knob.values) - {knob.now}:
            _core.check_scenario(L2FWD, [*fixed, (knob.key, value)])
    with pytest.raises(InputError, match="did you mean 'ddio_ways'"):
        knobs.of_scenario(L2FWD, fixed, resolved, ("ddio_way",))


ISOLATED = "experiments/eurosys19/isolation-scenario.toml"
STORE = "examples/store-and-neighbour.toml"
COPY = "experiments/asplos24/copy-scenario.toml"


@pytest.mark.parametrize(
    ("scenario", "fixed", "key", "now"),
    [
        (L2FWD, (), "placement.header_slices", "all"),
        (ISOLATED, (), "memory_kernel.nearest_slices", "all"),
        (ISOLATED, (), "co_runner.0.nearest_slices", "all"),
        (STORE, (), "key_value.slice_aware_items", "none"),
        (COPY, (), "dsa.queue_mode", "dedicated"),
        (COPY, (("dsa.queue_mode", "shared"),), "dsa.threshold", "all"),
    ],
)
def test_what_a_scenario_leaves_unsaid_can_be_set(
    scenario: str, fixed: tuple[tuple[str, str], ...], key: str, now: str
) -> None:
    resolved = json.loads(_core.check_scenario(scenario, list(fixed)))
    (knob,) = knobs.of_scenario(scenario, fixed, resolved, (key,))
    set_ones = [value for value in knob.values if value != now]
    assert knob.now == now and set_ones
    for value in set_ones:
        _core.check_scenario(scenario, [*fixed, (key, value)])
    # What is there now is no setting: it is what is left when a change is left out.
    assert search.with_value(knob, ((key, set_ones[0]),), now) == ()
    assert all(dict(one).get(key) != now for one in search._spread([knob], 8))


def test_slices_that_a_scenario_chooses_itself_are_no_knob() -> None:
    for chosen in (("memory_kernel.slices", "[0, 1]"), ("memory_kernel.isolated_slices", "true")):
        resolved = json.loads(_core.check_scenario(ISOLATED, [chosen]))
        found = [one.key for one in knobs.of_scenario(ISOLATED, [chosen], resolved, ())]
        assert "memory_kernel.nearest_slices" not in found
        assert "co_runner.0.nearest_slices" in found


def test_goals_cost_less_when_they_are_better() -> None:
    now = {"latency_ns.p99": 10.0, "b:latency_ns.p99": 10.0, "throughput_gbps": 50.0}
    better = {"latency_ns.p99": 8.0, "b:latency_ns.p99": 9.0, "throughput_gbps": 60.0}
    resolved = {"cores": 4, "application": "l2-forward", "tenant": [{"name": "b"}]}
    for wanted in (Goal.P99, Goal.THROUGHPUT, Goal.ISOLATION):
        target = Target.of_scenario(wanted, resolved, ())
        before, after = target.cost({}, now, now), target.cost({}, better, now)
        assert before is not None and after is not None and after < before
    free = Target.of_scenario(Goal.FREE_CORES, {"cores": 4}, ())
    assert (free.cost({}, now, now), free.cost({"cores": "2"}, now, now)) == (4, 2)
    with pytest.raises(InputError, match="no DRAM reads and writes"):
        Target.of_scenario(Goal.MEMORY_BANDWIDTH, {"cores": 4}, ()).require(now)


def test_what_moves_no_packets_is_asked_for_what_it_moves() -> None:
    resolved = {"cores": 1, "application": "offload", "tenant": [{"name": "b", "cores": 1}]}
    target = Target.of_scenario(Goal.THROUGHPUT, resolved, ())
    assert target.throughputs == ("offload_gbytes_per_s", "b:throughput_gbps")
    assert target.cost({}, {"offload_gbytes_per_s": 8.0}, {}) == -8.0
    assert target.label.endswith(", GB/s")
    kernel = Target.of_scenario(
        Goal.THROUGHPUT, {"cores": 1, "application": "memory-kernel", "tenant": []}, ()
    )
    assert kernel.cost({}, {"work_per_s": 6e7}, {}) == -6e7
    assert kernel.label == "work_per_s, accesses per second"


def test_no_goal_is_bought_with_packets_that_are_not_forwarded() -> None:
    now = {"throughput_gbps": 50.0, "b:throughput_gbps": 40.0}
    stated = [bound.parse("b:throughput_gbps>=0.5x", "--constraint")]
    resolved = {"cores": 1, "tenant": [{"name": "b"}]}
    found = goal.implied(Target.of_scenario(Goal.P99, resolved, tuple(stated)), now)
    assert [one.text for one in found] == ["throughput_gbps>=0.98x"]


def test_changes_are_told_as_commands() -> None:
    changes = [
        ("ddio_ways", "6"),
        ("rx_descriptors", "256"),
        ("core_way_mask", "0x1ff"),
        ("tenant.0.ddio_ways", "0"),
        ("co_runner.0.mba_percent", "40"),
        ("offload.batch", "8"),
        ("placement.header_slices", "2"),
        ("dsa.threshold", "12"),
    ]
    told = dict(commands.for_changes(changes, ["b"]))
    assert told["ddio_ways"] == ["skipline-host tune ddio-ways 6"]
    assert told["rx_descriptors"][0] == "ethtool -G IFACE rx 256"
    assert told["core_way_mask"][0] == "skipline-host tune cat GROUP 0x1ff"
    assert told["core_way_mask"][1] == 'echo "L3:0=1ff" > /sys/fs/resctrl/GROUP/schemata'
    assert told["tenant.0.ddio_ways"][0].startswith("skipline-host tune ddio off")
    assert told["tenant.0.ddio_ways"][0].endswith("# of b")
    assert "MB:0=40" in told["co_runner.0.mba_percent"][0]
    assert told["placement.header_slices"][0].startswith("export SKIPLINE_SLICE_NEAREST=2 ")
    assert told["dsa.threshold"] == ["accel-config config-wq dsa0/wq0.0 --threshold=12"]
    assert told["offload.batch"] == ["# in the application: batch = 8"]


def test_guidelines_are_judged_by_changes_alone() -> None:
    ways = Knob("ddio_ways", ["0", "2", "6"], "2", True)
    rings = Knob("rx_descriptors", ["256", "4096"], "4096", True)
    tried = [
        Tried((), 100.0),
        Tried((("ddio_ways", "6"),), 80.0),
        Tried((("rx_descriptors", "256"),), 120.0),
    ]
    found = {one.guideline.knob: one for one in guidelines.judge([ways, rings], tried, {})}
    assert (found["ddio_ways"].verdict, found["ddio_ways"].percent) == ("confirmed here", 20.0)
    assert found["rx_descriptors"].verdict == "contradicted here"


def test_changes_that_no_search_tried_alone_are_tried_for_their_guidelines() -> None:
    ways = Knob("ddio_ways", ["0", "2", "4", "6"], "2", True)
    cores = Knob("cores", ["1", "2", "4", "8", "16"], "2", True)
    tried = [Tried((), 1.0), Tried((("ddio_ways", "6"),), 0.5)]
    found = guidelines.untried_changes([ways, cores], tried, {})
    assert found == [(("cores", value),) for value in ("4", "16", "1")]
    assert guidelines.untried_changes([ways], tried, {}) == []


def test_engines_between_tiers_are_told_of_where_there_are_tiers() -> None:
    by = Knob("offload.by", ["core", "dsa"], "core", False)
    tried = [Tried((), 100.0), Tried((("offload.by", "dsa"),), 80.0)]
    for node, told in (("cxl", ["let engines move data between memory tiers"]), ("local", [])):
        resolved = {"memory_node": "local", "offload": {"source_node": node}}
        found = guidelines.judge([by], tried, resolved)
        assert [one.guideline.text for one in found] == told


@pytest.mark.parametrize(("name", "is_told"), [("low-priority", True), ("storage", False)])
def test_low_priority_is_a_word_of_the_user(name: str, is_told: bool) -> None:
    ways = Knob("tenant.0.ddio_ways", ["0", "2"], "2", True)
    tried = [Tried((), 100.0), Tried((("tenant.0.ddio_ways", "0"),), 80.0)]
    found = list(guidelines.judge([ways], tried, {"tenant": [{"name": name}]}))
    assert [one.verdict for one in found] == (["confirmed here"] if is_told else [])


def test_a_smaller_ring_comes_with_the_burst_that_it_takes() -> None:
    keys = {"rx_descriptors": 4096, "packet_bytes": 1226, "offered_gbps": 100.0}
    resolved = {**keys, "tenant": [{"name": "b", **keys}]}
    changes = (("rx_descriptors", "8192"), ("tenant.0.rx_descriptors", "256"), ("cores", "2"))
    (found,) = burst.of_rings(changes, resolved)
    assert (found.tenant, found.packets_now, found.packets_then) == ("b", 4096, 256)
    assert found.then_us == pytest.approx(25.6)
    assert "256 packets in a row, 25.6 µs at 100 Gbit/s" in found.text


def test_the_load_is_judged_by_the_hits_of_device_writes() -> None:
    worse, same = guidelines.load_evidence(61.0, 78.0), guidelines.load_evidence(99.5, 99.9)
    assert (worse.verdict, same.verdict) == ("confirmed here", "makes no difference here")
    assert worse.effect == "offered_gbps=75: pcie_write_hit_rate +17.0 pp"


def test_with_little_time_what_is_advised_comes_first_and_then_what_helps_of_it_together() -> None:
    asked: list[Candidate] = []

    def attempt(candidates: Sequence[Candidate]) -> list[Tried]:
        asked.extend(candidates)
        alone = {"ring": -2.0, "ways": -1.0, "cores": 1.0}
        return [Tried(one, 10 + sum(alone[key] for key, _ in one)) for one in candidates]

    first: list[Candidate] = [(("ways", "4"),), (("ring", "512"),), (("cores", "2"),)]
    best, *_ = search.search(KNOBS, 5, attempt, first)
    assert asked == [(), *first, (("ring", "512"), ("ways", "4"))]
    assert best.candidate == asked[-1]


def test_what_is_advised_begins_half_way() -> None:
    resolved = json.loads(_core.check_scenario(L2FWD, []))
    wanted = ("rx_descriptors", "ddio_ways")
    found = guidelines.first_changes(knobs.of_scenario(L2FWD, (), resolved, wanted), resolved)
    assert found == [
        (("ddio_ways", "6"),), (("rx_descriptors", "256"),),
        (("ddio_ways", "8"),), (("rx_descriptors", "64"),),
    ]  # fmt: skip


def test_ways_that_a_machine_cannot_change_are_no_knob() -> None:
    scenario, fixed = "examples/forward-100g.toml", ()
    resolved = json.loads(_core.check_scenario(scenario, list(fixed)))
    assert resolved["ddio_ways"] is not None
    found = [one.key for one in knobs.of_scenario(scenario, fixed, resolved, ())]
    assert "rx_descriptors" in found and "ddio_ways" not in found
    with pytest.raises(InputError, match=r"'ddio_ways': no setting of ice-lake-40.*0xC8B"):
        knobs.of_scenario(scenario, fixed, resolved, ("ddio_ways",))
