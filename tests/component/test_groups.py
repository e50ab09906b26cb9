"""Do tests that share what takes long to set up run in one process?"""

import os

import pytest


@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="one process runs all tests")
@pytest.mark.xdist_group("alone")
def test_a_group_is_known_to_the_scheduler(request: pytest.FixtureRequest) -> None:
    # It reads groups from the ends of names. Without them every process would set up everything.
    assert request.node.nodeid.endswith("@alone")
