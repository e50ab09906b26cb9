"""How large a timeline of a million operations is, and how long it takes beside a run without one.

    python benches/timeline.py

Ends with 1 if the file has more than 40 MB, or the timeline takes more than ten seconds of its own:
of processor time, which other programs on the machine do not lengthen.
"""

import json
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SCENARIO = "experiments/ddio-bench/l2fwd.toml"
# Some 66 operations for each packet of 1500 B: its lines written, read, and those of rings.
PACKETS = 15_500
SETTINGS = ("--set", "rx_descriptors=256", "--set", "run.max_batches=10")
RUN = ("skipline", "run", SCENARIO, *SETTINGS, "--format", "json")
LEAST_OPERATIONS = 1_000_000
MOST_BYTES, MOST_SECONDS = 40_000_000, 10.0


def timed(*options: str) -> tuple[float, str, str]:
    """Run the scenario; return processor seconds, what it prints, and what it says beside that."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*RUN, *options], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    return user + system, done.stdout, done.stderr


def main() -> int:
    """Measure once each, and compare with the limits."""
    plain, out, _ = timed()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.pftrace")
        window = ("--perfetto", str(file), "--perfetto-packets", str(PACKETS))
        drawn, same, told = timed(*window)
        size = file.stat().st_size
    (count,) = re.findall(r"([\d,]+) line operations", told)
    operations = int(count.replace(",", ""))
    if json.loads(out)["metrics"] != json.loads(same)["metrics"]:
        print("the timeline changed the numbers of the run")
        return 1
    own = drawn - plain
    print(f"{operations:,} operations, {size / 1e6:.1f} MB ({size / operations:.1f} bytes each)")
    print(f"{plain:.1f} s without, {drawn:.1f} s with the timeline: {own:.1f} s of its own")
    fits = size <= MOST_BYTES and own <= MOST_SECONDS and operations >= LEAST_OPERATIONS
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
