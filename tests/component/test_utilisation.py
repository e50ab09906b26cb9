"""No resource is busy for longer than time passes, however short a run is."""

import json

import pytest

from skipline import _core

RUNS = {
    "examples/forward-100g.toml": (64, []),
    "examples/forward-400g.toml": (8, [("hardware.dram.channels", "1")]),
    "experiments/atc20/two-nics-scenario.toml": (16, [("ddio_ways", "0")]),
    "examples/jumbo-frames.toml": (16, []),
    "examples/iommu.toml": (8, []),
}


@pytest.mark.parametrize("scenario", RUNS)
def test_a_short_run_has_no_resource_busier_than_always(scenario: str) -> None:
    batch, settings = RUNS[scenario]
    short = [("run.batch_packets", str(batch)), ("run.max_batches", "10")]
    for seed in range(3):
        found = json.loads(_core.run(scenario, [*short, *settings], seed))
        shares = {one["resource"]: one["utilisation_percent"] for one in found["limits"]}
        links = found["metrics"]["pcie_utilisation"]["value"]
        busiest = max((*shares.values(), *links.values()))
        assert 0 < busiest <= 100 + 1e-9, (seed, shares, links)
