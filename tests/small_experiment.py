"""An experiment of two short points, to test how experiments are run, kept and reported."""

from pathlib import Path

from command_line import ENDLESS_BATCH, L2FWD, SHORT_BATCH
from skipline import resources
from skipline.claims import recorded_tests
from skipline.claims.recorded_tests import TestOutcome

_MEASURED = """ring,metric,unit,mean,sd,min,median,max,runs
256,offered,Gbps,1.0,0,0,{offered},99,3
256,hits,percent,98,0.5,97,98,99,3
512,offered,Gbps,1.0,0,0,99.0,99,3
512,hits,percent,90,1,88,90,92,3
"""

_EXPERIMENT = """
title = "Two rings"
question = "Does a larger ring hit less?"
source = "made up for tests"
scenario = "scenario/l2fwd.toml"
fit_points = [{{ rx_descriptors = 512 }}]

[[axis]]
key = "rx_descriptors"
values = [256, 512]
label = "RX descriptors"
short_label = "ring"
reference = "ring"
role = "x"

[fixed]
packet_bytes = 1024
ddio_ways = 2
"run.max_batches" = 10

[reference]
file = "measured.csv"
source = "made up for tests"
inputs = {{ offered_gbps = "offered", "run.batch_packets" = "batch" }}

[[metric]]
name = "pcie_write_hit_rate"
reference = "hits"
label = "PCIe write hit rate"
short_label = "write hit, %"

[[check]]
name = "hits"
text = "hits: mean absolute error"
metrics = ["pcie_write_hit_rate"]
statistic = "mean_absolute_error"
at_most = 100
unit = "points"
"""


def write_small_experiment(
    directory: Path, *, offered: float = 98.0, endless_ring: int | None = None, claims: str = ""
) -> str:
    """Write the experiment and what it needs; return its path relative to `directory`.

    `claims` are its [[claim]] tables.

    `offered` is the load of the first point in Gbps; the point with `endless_ring` descriptors
    never ends by itself.
    """
    batches = "".join(
        f"{ring},batch,packets,1,0,0,{ENDLESS_BATCH if ring == endless_ring else SHORT_BATCH},0,3\n"
        for ring in (256, 512)
    )
    (directory / "scenario").mkdir(exist_ok=True)
    (directory / "scenario" / "l2fwd.toml").write_text(
        resources.read_text(L2FWD).replace(
            'testbed = "atc20-skylake"', 'platform = "skylake-gold-6140"'
        )
    )
    (directory / "measured.csv").write_text(_MEASURED.format(offered=offered) + batches)
    (directory / "two-rings.toml").write_text(_EXPERIMENT.format() + claims)
    return "two-rings.toml"


CLAIMS = """
[[claim]]
id = "x-01"
note = "made up"
[[claim.check]]
text = "hits at 256"
value = 'at("pcie_write_hit_rate", rx_descriptors=256)'
at_least = 1
unit = "percent"

[[claim]]
id = "x-02"
[[claim.check]]
text = "hits at 512 are zero"
value = 'at("pcie_write_hit_rate", rx_descriptors=512)'
expected = 0
tolerance = 0.5
unit = "percent"
[[claim.check]]
text = "both rings are read"
value = 'len(series("pcie_write_hit_rate", along="rx_descriptors")) == 2'
"""

CLAIMS_TABLE = """id,source,kind,statement,expected,tolerance
x-01,made up,number,Lines are hit,at least 1 %,
x-02,made up,number,"No line is hit, ever",0 %,0.5 points
y-01,another,mechanism,Something is shown,traces,
y-02,another,mechanism,Something is open,a tool does it,
"""

_POINTERS = """
[[claim]]
id = "y-01"
test = ["tests/test_shown.py::test_it_is_shown"]

[[claim]]
id = "y-02"
judged = "not judged"
reason = "the tool does not exist"
"""

_TESTS_IN_PYTHON = """
def it_helps(): ...
# def test_it_was_shown(): ...
def test_it_is_shown(): ...
"""
_TESTS_IN_RUST = """
fn it_helps() {}
#[test]
#[should_panic]
fn it_is_shown_in_rust() {}
"""


def write_small_evidence(directory: Path, *, claims: str = CLAIMS, **changes: object) -> None:
    """Write a folder `evidence` with claims, the experiment that judges two, and pointers."""
    folder = directory / "evidence"
    folder.mkdir(exist_ok=True)
    write_small_experiment(folder, claims=claims, **changes)  # type: ignore[arg-type]
    (folder / "claims.csv").write_text(CLAIMS_TABLE)
    (folder / "tests.toml").write_text(_POINTERS)
    for name in ("crates", "tests"):
        (directory / name).mkdir(exist_ok=True)
    (directory / "tests" / "conftest.py").touch()
    (directory / "tests" / "test_shown.py").write_text(_TESTS_IN_PYTHON)
    (directory / "crates" / "shown.rs").write_text(_TESTS_IN_RUST)


def record_that_tests(directory: Path, said: TestOutcome) -> None:
    """Write that the test behind y-01 has run on what is there now, and how it ended."""
    shown = "tests/test_shown.py::test_it_is_shown"
    recorded_tests.write(directory, recorded_tests.revision(directory), {shown: said})
