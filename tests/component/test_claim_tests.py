"""What a test said is found in the output of its runner, and is not taken from another test's."""

import json
from pathlib import Path

import claim_tests
from claim_tests import Binary

IN_RUST = [
    "crates/sim/model/tests/all/claims.rs::it_holds",
    "crates/sim/model/tests/all/dsa.rs::it_holds",
    "crates/sim/model/tests/all/dsa.rs::it_is_ignored",
    "crates/sim/workload/src/slice_memory.rs::it_fails",
]
OUTPUT = """
running 5 tests
test claims::it_holds ... ok
test dsa::it_holds ... FAILED
test dsa::it_is_ignored ... ignored
test claims::it_holds_still ... ok
test slice_memory::tests::it_fails ... FAILED
test result: FAILED. 2 passed; 2 failed; 1 ignored
"""
IN_PYTHON = [
    f"tests/flow/test_demo.py::test_{name}"
    for name in ("passes", "of_many", "is_skipped", "fails", "is_not_there")
]
REPORT = """<testsuites><testsuite>
<testcase classname="tests.flow.test_demo" name="test_passes"/>
<testcase classname="tests.flow.test_other" name="test_fails"/>
<testcase classname="tests.flow.test_demo" name="test_of_many[a]"/>
<testcase classname="tests.flow.test_demo" name="test_of_many[b]"><failure/></testcase>
<testcase classname="tests.flow.test_demo" name="test_is_skipped"><skipped/></testcase>
<testcase classname="tests.flow.test_demo" name="test_fails"><error/></testcase>
</testsuite></testsuites>"""


def test_a_test_in_rust_is_known_by_function_and_file() -> None:
    assert claim_tests.said_by_rust(OUTPUT.splitlines(), IN_RUST) == {
        IN_RUST[0]: "passed",
        IN_RUST[1]: "failed",
        IN_RUST[3]: "failed",
    }


def test_of_a_test_with_parameters_all_have_to_pass_and_one_that_is_skipped_says_nothing() -> None:
    assert claim_tests.said_by_pytest(REPORT, IN_PYTHON) == {
        IN_PYTHON[0]: "passed",
        IN_PYTHON[1]: "failed",
        IN_PYTHON[3]: "failed",
    }


def test_programs_of_tests_are_told_from_others_that_cargo_builds() -> None:
    def message(crate: str, source: str, name: str, *, test: bool = True) -> str:
        return json.dumps({
            "reason": "compiler-artifact",
            "manifest_path": f"/here/crates/{crate}/Cargo.toml",
            "target": {"name": name, "src_path": f"/here/crates/{crate}/{source}"},
            "profile": {"test": test},
            "executable": f"/made/{crate.rpartition('/')[2]}-{name}",
        })  # fmt: skip

    messages = [
        json.dumps({"reason": "build-script-executed"}),
        message("sim/model", "tests/all/main.rs", "all"),
        message("sim/model", "src/lib.rs", "model", test=False),
        message("sim/workload", "src/lib.rs", "workload"),
        message("sim/scenario/tests", "all/main.rs", "all"),
    ]
    model, workload, scenario = claim_tests.binaries_in(messages, Path("/here"))
    assert model == Binary("crates/sim/model", "tests/all", "/made/model-all")
    assert scenario == Binary("crates/sim/scenario/tests", "all", "/made/tests-all")
    assert workload == Binary("crates/sim/workload", "src", "/made/workload-workload")
    of = {test: [one for one in (model, workload) if one.has(test)] for test in IN_RUST}
    assert [of[test] for test in IN_RUST] == [[model], [model], [model], [workload]]
