"""The driver's own tests, in C on real huge pages."""

import os
import re
import shutil
import subprocess

import pytest

from command_line import REPOSITORY
from dpdk.programs import BUILD

SKIPPED = 77


@pytest.mark.usefixtures("pages")
@pytest.mark.parametrize(
    "program",
    [
        *("exhaustion", "home_pools", "movable", "nodes", "placement", "plain", "plain_names"),
        *("refusals", "secondary", "sets", "sharing", "stash"),
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


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is missing: package binutils")
@pytest.mark.parametrize(
    ("library", "header"),
    [("librte_mempool_skipline.so", "pool/skipline_mempool.h"), ("librte_skipline_probe.so", None)],
)
def test_a_library_exports_what_its_header_declares(library: str, header: str | None) -> None:
    if not (BUILD / library).exists():
        pytest.skip("the mempool driver is not built: make dpdk")
    command = ["nm", "-D", "--defined-only", str(BUILD / library)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = (REPOSITORY / "native/dpdk" / header).read_text() if header else ""
    declared = set(re.findall(r"^SKL_MEMPOOL_API [^(]*?(\w+)\(", text, re.MULTILINE))
    assert {line.split()[-1] for line in listed.splitlines()} == declared
    assert bool(declared) == bool(header)
