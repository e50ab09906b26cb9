"""Does a mutation change what it names, and nothing where a machine lacks it?"""

from pathlib import Path

import pytest

import made_up_rates
import mutations
from command_line import REPOSITORY
from mutations import Mutation, Mutations, mutated
from skipline import InputError, Store
from skipline.experiment import catalogue
from skipline.experiment.points import Point, points
from skipline.text import toml_model

EXPERIMENT = """title = "t"
question = "q"
source = "s"
scenario = "s.toml"
[[axis]]
key = "rx_descriptors"
values = [128]
label = "ring"
role = "x"
[[metric]]
name = "throughput_gbps"
label = "rate"
[[claim]]
id = "c-1"
[[claim.check]]
text = "the wire is half full"
value = 'at("throughput_gbps") > 50'
[[claim.check]]
text = "something moves"
value = 'at("throughput_gbps") > 1'
"""
SCENARIO = """platform = "skylake-gold-6140"
rx_descriptors = 128
run.batch_packets = 512
run.max_batches = 10
"""
FILE = """experiments = ["e.toml"]
[[mutation]]
name = "a slow wire"
claim = "c-1"
set = { "hardware.nic.line_rate_gbps" = 25.0, "hardware.nic.tx_rate_gbps" = 24.0 }
times = { offered_gbps = 0.2 }
[[mutation]]
name = "engines that are not there"
claim = "c-1"
times = { "hardware.dsa.dispatch_ns" = 9.0 }
"""


def point(**settings: int | str) -> Point:
    """A point of the first testbed of ATC'20."""
    (first, *_) = points(catalogue.find("pktsize-desc"))
    return Point(first.axes, first.scenario, first.settings | settings, "predicted", {})


def test_a_factor_is_of_what_the_point_has() -> None:
    more = Mutation(name="m", claim="c-1", times={"ddio_ways": 1.5, "hardware.dram.path_ns": 2.0})
    assert mutated(point(ddio_ways=2), more).settings["ddio_ways"] == 3
    assert mutated(point(), more).settings["hardware.dram.path_ns"] == pytest.approx(101.2)
    own = Mutation(name="m", claim="c-1", platform="skylake-gold-6140", set={"ddio_ways": 3})
    assert mutated(point(), own).settings["ddio_ways"] == 3
    of_its_own = mutated(point(**{"hardware.dram.path_ns": "40"}), more)
    assert of_its_own.settings["hardware.dram.path_ns"] == pytest.approx(80)


@pytest.mark.parametrize(
    "mutation",
    [
        Mutation(name="no DSA", claim="c-1", times={"hardware.dsa.dispatch_ns": 2.0}),
        Mutation(name="no ring", claim="c-1", set={"hardware.ring.hop_uncore_cycles": 2.0}),
        Mutation(name="as it is", claim="c-1", set={"rng_calls": 0}, times={"cores": 1.0}),
        Mutation(name="beyond the cache", claim="c-1", times={"ddio_ways": 9.0}),
        Mutation(name="none of none", claim="c-1", times={"rng_calls": 2.0}),
        Mutation(name="another machine", claim="c-1", platform="ice-lake-40", set={"ddio_ways": 3}),
    ],
    ids=lambda mutation: mutation.name,
)
def test_a_point_without_the_key_stays(mutation: Mutation) -> None:
    one = point(ddio_ways=2)
    assert mutated(one, mutation) is one


def test_each_mutation_reaches_an_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    known = toml_model.load(Mutations, Path(mutations.FILE).read_text(), mutations.FILE)
    assert len(known.mutation) >= 26
    entries = [catalogue.find(name) for name in known.experiments]
    known_points = {entry.identifier: points(entry) for entry in entries}
    idle = []
    for one in known.mutation:
        looking = mutations.judging(one, entries, mutations.FILE)
        looked = [point for entry in looking for point in known_points[entry.identifier]]
        if all(mutated(point, one) is point for point in looked):
            idle.append(one.name)
    assert idle == []


def test_a_check_without_its_number_does_not_hold(tmp_path: Path) -> None:
    zero = 'at("latency_ns.p99.9", size=64, mode="on") - 2000'
    text = f"{made_up_rates.EXPERIMENT}{made_up_rates.CLAIM}value = '{zero} == 0'\n"
    other = made_up_rates.CLAIM.replace("c-1", "c-2") + f"value = '1 / ({zero}) > 0'\n"
    (tmp_path / "e.toml").write_text(text + other)
    entry = catalogue.load((tmp_path / "e.toml").as_posix())
    found = mutations.checks_of(entry, made_up_rates.finished(entry))
    assert found == {("c-1", "a check"): True, ("c-2", "a check"): False}


def test_who_notices_what_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("e.toml", EXPERIMENT), ("s.toml", SCENARIO), ("m.toml", FILE)):
        Path(name).write_text(text)
    assert mutations.main(["m.toml"]) == 1
    wire, engines, last = capsys.readouterr().out.splitlines()
    assert wire == "a slow wire (1 of 1 points): c-1"
    assert engines == "engines that are not there (0 of 1 points): nobody; NOT c-1"
    assert last == "1 of 2 changes are noticed by the claims that m.toml names."
    assert mutations.main(["--all", "m.toml", "a slow wire"]) == 0
    with pytest.raises(InputError, match="no mutation 'nobody'; there are: a slow wire, engines"):
        mutations.main(["m.toml", "nobody"])
    with Store("reports/mutations/points.duckdb") as store:
        done = store.sweeps().select("title", "done").rows()
    assert sorted(done) == [("e: a slow wire", 1), ("e: none", 1)]


def test_a_claim_that_no_experiment_judges_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = FILE.replace('claim = "c-1"', 'claim = "c-2"', 1)
    for name, content in (("e.toml", EXPERIMENT), ("s.toml", SCENARIO), ("m.toml", text)):
        Path(name).write_text(content)
    with pytest.raises(InputError, match=r"'a slow wire': no experiment .* judges the claim 'c-2'"):
        mutations.main(["m.toml"])
