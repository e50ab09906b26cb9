"""Do DPDK's own fast suites say of the slice-aware pool what they say of the standard one?"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dpdk.emulated_parts import Part
from dpdk.machine import LacksError, huge_pages, lcores
from dpdk.programs import BUILD, SLICE_POOL, STANDARD_POOL

LIST = Path(__file__).parent / "suites.txt"
WORKERS = 2
# Most suites take seconds, and very different times where threads outnumber CPUs.
STANDARD_SECONDS = 90
SLICE_SECONDS = 4 * STANDARD_SECONDS
DOES_NOT_END = "does not end"
# Those of tables and of the RIB ask for so many beyond what they begin with.
PAGES = 1024
ABOUT_POOLS = re.compile(r"distributor|event_eth|ipfrag|mbuf|mempool|reorder|ring")
VERDICT = re.compile(r"^(?:RTE>>)?Test (OK|Failed|Skipped)", re.MULTILINE)

pytestmark = [
    pytest.mark.usefixtures("pages", "pages_of_suites"),
    pytest.mark.skipif(
        shutil.which("dpdk-test") is None, reason="dpdk-test is missing: package dpdk-dev"
    ),
    pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is missing: util-linux"),
]


def listed() -> dict[str, list[str]]:
    """Suites, and what the list says of them."""
    lines = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {suite: said for suite, *said in lines}


@pytest.fixture(scope="module")
def pages_of_suites() -> Iterator[None]:
    """Huge pages for all of them."""
    try:
        with huge_pages(PAGES):
            yield
    except LacksError as lacks:
        pytest.skip(str(lacks))


def run_suite(
    suite: str,
    pool: str,
    settings: dict[str, str],
    pages: Path,
    timeout_seconds: int,
    workers: int,
) -> str:
    """What dpdk-test says of a suite with this pool as the default."""
    prefix = f"skipline{os.getpid()}"
    command = [
        *("dpdk-test", "--no-pci", "--file-prefix", prefix, "-m", "384"),
        *("--huge-dir", str(pages), "--lcores", lcores(workers)),
        *("-d", "librte_mempool_skipline.so", "--mbuf-pool-ops-name", pool),
    ]
    # Suites that start other processes need memory in files; the mount goes with the process.
    mounted = f'mount -t hugetlbfs none "{pages}" && exec "$@"'
    mine = {"LD_LIBRARY_PATH": f"{BUILD}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    try:
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", mounted, "sh", *command],
            env=os.environ | mine | settings | {"DPDK_TEST": suite},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return DOES_NOT_END
    finally:
        shutil.rmtree(f"/var/run/dpdk/{prefix}", ignore_errors=True)
    said = VERDICT.findall(done.stdout)
    return said[-1] if said else f"ends with {done.returncode}: {done.stderr[-500:]}"


def parameters() -> Iterator[Any]:
    """Suites; those not about pools and what lies in them would take `make soak` too long."""
    for suite, said in listed().items():
        mark = pytest.mark.soak if ABOUT_POOLS.match(suite) else pytest.mark.soak_long
        yield pytest.param(suite, said, marks=mark, id=suite)


@pytest.mark.parametrize(("suite", "said"), list(parameters()))
def test_a_suite_gives_the_same_with_both_pools(
    suite: str, said: list[str], tmp_path: Path, haswell: Part
) -> None:
    settings = {
        "SKIPLINE_SLICE_TABLE": str(haswell.write_table(tmp_path / "table.toml")),
        "SKIPLINE_SLICE_SLICES": ";".join(f"{lcore}={lcore}" for lcore in range(WORKERS + 1)),
    }
    pages = tmp_path / "pages"
    pages.mkdir()
    workers = WORKERS
    if "waits" in said and len(os.sched_getaffinity(0)) <= WORKERS:
        # As many threads as CPUs; main polls too, so that the pool is shared all the same.
        workers, settings = 1, settings | {"SKIPLINE_SLICE_POLLERS": "0,1"}
    standard = run_suite(suite, STANDARD_POOL, settings, pages, STANDARD_SECONDS, workers)
    if standard == DOES_NOT_END:
        pytest.skip(f"with the standard pool it does not end in {STANDARD_SECONDS} s here")
    assert standard in (("Failed", "OK") if "fails" in said else ("OK", "Skipped"))
    assert run_suite(suite, SLICE_POOL, settings, pages, SLICE_SECONDS, workers) == standard
