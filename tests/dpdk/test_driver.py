"""The driver's own tests, in C on real huge pages."""

import os
import subprocess

import pytest

from dpdk.programs import BUILD

SKIPPED = 77


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    "program",
    [
        *("exhaustion", "placement", "refusals", "sharing", "stash"),
        *("without_huge_pages", "without_permission"),
    ],
)
def test_driver(program: str) -> None:
    path = BUILD / f"test-{program}"
    if not path.exists():
        pytest.skip("the driver's tests are not built: cmocka is missing")
    environment = os.environ | {"LD_LIBRARY_PATH": str(BUILD), "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    done = subprocess.run(
        [path], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode == SKIPPED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
