"""Do the examples run as they say, and does what they say come out?"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from command_line import REPOSITORY, Skipline
from flow.test_bad_input import assert_refused
from skipline.scenarios import examples

COMMAND = re.compile(r"^#   \$ skipline (?P<arguments>.+)$", re.M)
# Fewer packets in a batch would be too few for large rings.
SHORT = ("--set", "run.max_batches=10", "--format", "json")


class Run(NamedTuple):
    """The metrics of a run, by name; `latency_ns.p99` is one of several numbers."""

    metrics: dict[str, dict[str, float | dict[str, float]]]

    def __call__(self, name: str) -> float:
        metric, _, component = name.partition(".")
        value = self.metrics[metric]["value"]
        return value[component] if isinstance(value, dict) else value


WRITES = "pcie_write_hit_rate"
RATE, DROPPED, PACKETS = "throughput_gbps", "rx_dropped", "tx_mpps"
LEAK, P50, P99 = "dram_write_gbytes_per_s", "latency_ns.p50", "latency_ns.p99"
UP, DOWN = "pcie_utilisation.up", "pcie_utilisation.down"
IDLE = "time_in_regime.idle"
CORE = "offload_core_time"
BLOCKED = "time_in_regime.sender_blocked"
MESSAGES = "message_gbytes_per_s"
MOVED, REPLAY = "offload_gbytes_per_s", "replay_ns"
ANSWERS, DIGESTS = "target_gbytes_per_s", "target_core_time.digests"
GETS, FAR, COPYING = "store_gets_per_s", "latency_ns.p99.999", "switch_copying_percent"

# Examples whose runs take long.
LONG = ("bulk-copies",)

# What comes out, of the runs of each example in their order. Directions, not digits.
CLAIMS: dict[str, Callable[..., bool]] = {
    "bulk-copies": lambda copy, copied, zero, zeroed, move, moved: (
        copy(MOVED) > 4 * copied(MOVED)
        and zero(MOVED) > 2 * zeroed(MOVED)
        and move(MOVED) > 7 * moved(MOVED)
    ),
    "buffers-by-set": lambda aligned, odd, by_set: (
        aligned(WRITES) < 85 < aligned(WRITES) + 10 < by_set(WRITES) and odd(WRITES) > 95
    ),
    "cachelib": lambda core, engines, all_copies: (
        engines(GETS) > 1.03 * core(GETS)
        and engines(FAR) < 0.8 * core(FAR)
        and all_copies(GETS) < 0.7 * core(GETS)
    ),
    "ddio-ways": lambda two, four, six: (
        two(WRITES) + 20 < four(WRITES) < six(WRITES) and six(WRITES) > 95
    ),
    "descriptor-replay": lambda recorded, fast, single: (
        2 * fast(REPLAY) < recorded(REPLAY) < single(REPLAY)
    ),
    "forward-100g": lambda four, two, one, small: (
        four(DROPPED) == 0
        and four(IDLE) > 5
        and 1.5 * one(RATE) < two(RATE) < 80
        and small(PACKETS) < 148 / 2
    ),
    "forward-200g": lambda small, large, payload: (
        small(UP) > 99
        and large(UP) > 99
        and payload(RATE) > small(RATE) + 1
        and abs(small(RATE) - large(RATE)) < 2
        and large(WRITES) < small(WRITES) - 30
    ),
    "forward-25g": lambda middle, small: (
        middle(DROPPED) == 0 and middle(IDLE) > 40 and small(PACKETS) < 37 / 2
    ),
    "forward-2x25g": lambda both, silent, small: (
        both("main:" + WRITES) + 20 < silent("main:" + WRITES) < small("main:" + WRITES)
    ),
    "forward-400g": lambda two, six, cores, payload: (
        two(UP) > 99
        and six(WRITES) > two(WRITES) + 20
        and two(LEAK) > 5 * six(LEAK)
        and cores(RATE) < two(RATE) - 5  # rings still fill in ten batches
        and payload(RATE) > two(RATE) + 3
    ),
    "imix": lambda mix, small, four: (
        mix(RATE) > 2 * small(RATE)
        and mix(PACKETS) < small(PACKETS)
        and mix(WRITES) < small(WRITES) - 10
        and four(RATE) > mix(RATE)
        and four(UP) > 95
    ),
    "iommu": lambda base, huge, off: (
        base(RATE) < 0.7 * off(RATE) and abs(huge(RATE) - off(RATE)) < 0.5
    ),
    "jumbo-chained": lambda chained, whole, large: (
        min(chained(RATE), whole(RATE), large(RATE)) > 99
        and chained(IDLE) < whole(IDLE) < chained(IDLE) + 5
        and abs(chained(WRITES) - whole(WRITES)) < 10
        and large(WRITES) < 50
    ),
    "jumbo-frames": lambda jumbo, few, full: (
        jumbo(RATE) > full(RATE) + 5
        and jumbo(WRITES) < 50
        and few(WRITES) > 95
        and jumbo(LEAK) > 5
        and few(RATE) > full(RATE) + 5
    ),
    "large-ring": lambda large, small, six: (
        large(WRITES) < 50
        and small(WRITES) > 85
        and six(WRITES) > 95
        and large(LEAK) > 4 * small(LEAK)
        and large(RATE) < small(RATE) - 2
    ),
    "latency-and-load": lambda low, high, over: (
        low(P99) < high(P99) < 3 * low(P99)
        and over(P99) > 10 * high(P99)
        and low(DROPPED) == 0 < over(DROPPED)
    ),
    "offload-copy": lambda engine, core, small, small_core, deep: (
        engine(MOVED) > 1.2 * core(MOVED)
        and small(MOVED) < 0.7 * small_core(MOVED)
        and deep(MOVED) > 2 * small_core(MOVED)
        and engine("offload_core_time.wait") > 90
        and core("offload_core_time.work") > 99
    ),
    "pool-without-cache": lambda none, single, cached: (
        1.2 * single(PACKETS) < none(PACKETS) < 0.85 * cached(PACKETS)
        and none(WRITES) < cached(WRITES) - 20
        and none(LEAK) > 5 * cached(LEAK)
    ),
    "prefetch-distance": lambda none, one, four, burst: (
        1.05 * none(PACKETS) < one(PACKETS)
        and abs(four(PACKETS) / one(PACKETS) - 1) < 0.03
        and abs(burst(PACKETS) / one(PACKETS) - 1) < 0.03
    ),
    "previous-copy-engine": lambda large, small, core, core_small: (
        large(MOVED) > 1.1 * core(MOVED)
        and small(MOVED) < 1.1 * core_small(MOVED)
        and large(CORE + ".work") == 0
        and core(CORE + ".work") > 99
        and small(P50) > 5 * core_small(P50)
    ),
    "remote-socket": lambda remote, local: (
        remote(WRITES) < 1
        and local(WRITES) > 80
        and remote(LEAK) > 5 * local(LEAK)
        and remote(IDLE) < local(IDLE) - 10
        and remote(P50) > local(P50) + 200
    ),
    "small-packets": lambda base, slow, two, short: (
        slow(PACKETS) < 0.8 * base(PACKETS)
        and two(PACKETS) > 1.8 * base(PACKETS)
        and base(WRITES) > 99
        and abs(short(PACKETS) / base(PACKETS) - 1) < 0.05
        and short(BLOCKED) > base(BLOCKED) + 20
    ),
    "ssd-neighbour": lambda both, off, small: (
        both("main:" + WRITES) < off("main:" + WRITES) - 3
        and off("storage:" + WRITES) == 0
        and off(LEAK) > 4 * both(LEAK)
        and small("main:" + WRITES) > 94
    ),
    "store-and-neighbour": lambda base, slow, ways: (
        base(PACKETS) < 0.95 * slow(PACKETS)
        and base(WRITES) > 95
        and base(PACKETS) < ways(PACKETS) < slow(PACKETS)
    ),
    "message-passing": lambda core, engines, small, small_engines: (
        engines(MESSAGES) > 1.2 * core(MESSAGES)
        and engines(P50) < core(P50)
        and small_engines(MESSAGES) < 0.5 * small(MESSAGES)
    ),
    "nvme-tcp-target": lambda core, none, engines, two: (
        core(ANSWERS) < 0.7 * none(ANSWERS)
        and core(DIGESTS) > 30
        and engines(ANSWERS) > 0.95 * none(ANSWERS)
        and engines(DIGESTS) < 5
        and engines(P50) < 0.75 * core(P50)
        and engines(ANSWERS) < two(ANSWERS) < 2.05 * core(ANSWERS)
    ),
    "two-ports-six-cores": lambda full, small, short, slower_card: (
        full(DROPPED) == 0
        and full(RATE) > 78
        and full(WRITES) < 60
        and short(WRITES) > full(WRITES) + 20
        and small(DROPPED) > 0
        and small(RATE) < 0.85 * full(RATE)
        and slower_card(DROPPED) > 0
    ),
    "two-ports-one-core": lambda full, small, two: (
        full(DROPPED) == 0
        and full(IDLE) > 50
        and small(RATE) < 42
        and small(DROPPED) > 0
        and two(RATE) > small(RATE) + 3
        and two(DOWN) > 95
    ),
    "vhost-switch": lambda core, engines, small, small_engines: (
        core(COPYING) > 50
        and engines(PACKETS) > 1.8 * core(PACKETS)
        and abs(engines(PACKETS) / small_engines(PACKETS) - 1) < 0.05
        and small_engines(PACKETS) < 1.2 * small(PACKETS)
    ),
}


def test_every_example_has_a_claim() -> None:
    assert {example.name for example in examples.entries()} == set(CLAIMS)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.soak] * (name in LONG)) for name in CLAIMS],
)
def test_what_an_example_says_comes_out(skipline: Skipline, name: str) -> None:
    example = examples.find(name)
    commands = [shlex.split(found) for found in COMMAND.findall(example.text)]
    assert len(commands) >= 2, "it compares runs"
    runs = []
    for command in commands:
        assert command[:2] == ["run", example.path]
        done = skipline(*command, *SHORT)
        assert done.code == 0, done.err
        runs.append(Run(done.json["metrics"]))
    assert CLAIMS[name](*runs), [
        {key: run.metrics[key]["value"] for key in (WRITES, RATE, LEAK, "latency_ns")}
        for run in runs
    ]


@pytest.mark.parametrize("example", examples.entries(), ids=lambda example: example.name)
def test_an_example_is_commented_and_built_in_as_it_is_in_the_repository(
    example: examples.Example,
) -> None:
    assert example.text == (REPOSITORY / example.path).read_text()
    assert example.question.endswith("?")
    head, _, _ = example.text.partition("\ntitle = ")
    assert head.startswith(f"# {example.question}\n#\n")
    for part in ("\n# Run it:\n", "\n# Look at ", "\n# What comes out: "):
        assert part in head, part
    lines = example.text.splitlines()
    assert all(len(line) <= 100 for line in lines if not COMMAND.match(line))


def test_examples_are_listed_with_their_question(skipline: Skipline) -> None:
    listed = skipline("examples", "list", "--format", "json").json["examples"]
    assert len(listed) >= 12
    table, rows = skipline("examples").out, skipline("examples", "list", "--format", "csv").out
    for example in listed:
        assert example["name"] in table
        assert example["question"] in table
        assert example["path"] in rows


def test_an_example_is_shown_as_it_is(skipline: Skipline) -> None:
    text = examples.find("large-ring").text
    for name in ("large-ring", "large-ring.toml", "examples/large-ring.toml"):
        assert skipline("examples", "show", name).out == text


def test_a_copied_example_can_be_changed_and_run(skipline: Skipline, tmp_path: Path) -> None:
    done = skipline("examples", "copy", "large-ring", "mine")
    copy = tmp_path / "mine" / "large-ring.toml"
    assert done.out == "wrote mine/large-ring.toml\nnext: skipline run mine/large-ring.toml\n"
    copy.write_text(copy.read_text().replace("4096\n", "64\n"))
    ran = skipline("run", "mine/large-ring.toml", *SHORT)
    assert ran.json["scenario"]["rx_descriptors"] == 64
    assert skipline("examples", "copy", "large-ring").out.startswith("wrote large-ring.toml\n")


def test_a_copy_overwrites_only_when_asked_and_says_so(skipline: Skipline, tmp_path: Path) -> None:
    (tmp_path / "large-ring.toml").write_text("mine\n")
    assert_refused(skipline("examples", "copy", "large-ring"), "large-ring.toml", "--replace")
    assert (tmp_path / "large-ring.toml").read_text() == "mine\n"
    done = skipline("examples", "copy", "large-ring", "--replace")
    assert done.out.startswith("replaced large-ring.toml\n")
    assert (tmp_path / "large-ring.toml").read_text() == examples.find("large-ring").text


def test_a_dangling_link_is_no_free_name(skipline: Skipline, tmp_path: Path) -> None:
    (tmp_path / "large-ring.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert_refused(skipline("examples", "copy", "large-ring"), "large-ring.toml", "--replace")
    assert not (tmp_path / "elsewhere.toml").exists()


@pytest.mark.parametrize("command", ["show", "copy"])
def test_an_unknown_example_is_refused_with_the_nearest(skipline: Skipline, command: str) -> None:
    assert_refused(skipline("examples", command, "large-rings"), "did you mean 'large-ring'?")


def test_a_copy_into_a_file_is_refused(skipline: Skipline, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert_refused(skipline("examples", "copy", "large-ring", "taken"), "taken", "directory")


def test_names_are_those_of_files() -> None:
    names = {path.stem for path in (REPOSITORY / "examples").glob("*.toml")}
    assert names == {example.name for example in examples.entries()}
    records = examples.table(examples.entries()).records()
    assert all(str(one["path"]).startswith("examples/") for one in records)


def test_a_copy_brings_the_file_that_it_reads(skipline: Skipline) -> None:
    done = skipline("examples", "copy", "descriptor-replay", "mine")
    assert done.out.startswith("wrote mine/descriptor-replay.toml\n")
    ran = skipline("run", "mine/descriptor-replay.toml", "--format", "json")
    assert ran.json["metrics"]["replay_ns"]["value"] > 0
    refused = skipline("examples", "copy", "descriptor-replay", "mine")
    assert_refused(refused, "mine/descriptor-replay", "--replace")
