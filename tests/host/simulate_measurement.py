"""What `skipline-host calibrate` would measure on a described machine, by simulation.

    python tests/host/simulate_measurement.py skylake-gold-6140 tests/host/machines/skylake

A tree has no caches. So the kernels run on a platform of the simulator, once each, without noise:
what comes out is not a measurement of hardware, and says so in the name of the processor.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

from skipline import _core

_SMALLEST_BYTES = 1 << 10
_SIZES_PER_OCTAVE = 4
_LINE_BYTES = 64
# As the plan of a measurement: eight times the last level, four sizes per doubling.
_BEYOND_LLC = 8
_KERNEL = {"pair_lines": 2, "page_bytes": 4096, "window_pages": 32}
_TRANSLATION_BYTES = 2 << 20


def main() -> None:
    """Simulate, and write `measured.json` into a folder of a described machine."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    facts = json.loads(_core.platform(name))
    described = tomllib.loads((folder / "machine.toml").read_text())
    caches = [_cache(facts, level) for level in (1, 2, 3)]
    largest_bytes = _BEYOND_LLC * caches[2]["size_bytes"]
    octaves = (largest_bytes // _SMALLEST_BYTES).bit_length() - 1
    exact = [_SMALLEST_BYTES * 2 ** (s / 4) for s in range(octaves * _SIZES_PER_OCTAVE + 1)]
    sizes = [round(one / _LINE_BYTES) * _LINE_BYTES for one in exact]
    arrays = [1 << (2 * octave) for octave in range(7, 32) if 1 << (2 * octave) <= largest_bytes]
    kernels = {
        **_KERNEL,
        "working_set_bytes": sizes,
        "translation_bytes": _TRANSLATION_BYTES,
        "array_bytes": arrays,
        "core_to_core": True,
    }
    found = json.loads(_core.host_kernels(name, json.dumps(kernels), 1, None))
    measured = {
        "format": 1,
        "measured_at_unix_s": 0,
        "duration_s": 0.0,
        "passes": 1,
        "processor": _processor(described["cpu"], name, caches),
        "cpu": 0,
        "core_ghz": [facts["cpu"]["core_ghz"]["value"]],
        "pages": _pages(found["latency_ns"][0]),
        "kernel": {"line_bytes": _LINE_BYTES, **_KERNEL},
        "chase": [
            {
                "working_set_bytes": size,
                "role": "kept" if at % 2 else "fit",
                "latency_ns": [round(latency_ns, 3)],
            }
            for at, (size, latency_ns) in enumerate(zip(sizes, found["latency_ns"], strict=True))
        ],
        "bandwidth": [
            {"array_bytes": size, **{key: [round(one[key], 2)] for key in one}}
            for size, one in zip(arrays, found["streams"], strict=True)
        ],
        "core_to_core": [{"from": 0, "to": 1, "latency_ns": [round(found["core_to_core_ns"], 2)]}],
    }
    (folder / "measured.json").write_text(json.dumps(measured, indent=1) + "\n")


def _processor(cpu: dict[str, Any], name: str, caches: list[dict[str, Any]]) -> dict[str, Any]:
    keys = ("vendor", "family", "model", "stepping")
    return {
        **{key: cpu[key] for key in keys},
        "name": f"{cpu['name']}, simulated as {name}",
        "virtual_machine": False,
        "socket_cores": cpu["cores_per_socket"],
        "caches": caches,
    }


def _cache(facts: dict[str, Any], level: int) -> dict[str, Any]:
    table = facts[("l1d", "l2", "llc")[level - 1]]
    slices = table["slices"]["value"] if level == 3 else 1
    sets = slices * table["sets_per_slice" if level == 3 else "sets"]["value"]
    ways = table["ways"]["value"]
    return {
        "level": level,
        "size_bytes": sets * ways * _LINE_BYTES,
        "ways": ways,
        "sets": sets,
        "shared_by": "0" if level < 3 else f"0-{facts['cpu']['cores']['value'] - 1}",
    }


def _pages(l1_ns: float) -> dict[str, Any]:
    return {
        "obtained": "reserved",
        "dense_ns": round(l1_ns, 3),
        "sparse_ns": round(l1_ns, 3),
        "translation_bytes": _TRANSLATION_BYTES,
    }


if __name__ == "__main__":
    main()
