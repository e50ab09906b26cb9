"""Bad input is refused at once: what only a run or a table needs is not even loaded."""

import subprocess
import sys

import pytest

from command_line import L2FWD, Skipline

# Each takes longer to load than all of Python.
HEAVY = {
    *("altair", "duckdb", "numpy", "optuna", "pandas", "polars", "pyarrow", "pydantic", "ray"),
    *("rich", "scipy", "typer", "vl_convert"),
}
PROGRAM = f"""
import sys
from skipline.__main__ import main
try:
    main()
except SystemExit as stop:
    print(stop.code, *sorted({HEAVY!r} & set(sys.modules)))
"""
REFUSED = [
    ("rnu",),
    ("run",),
    ("run", "nosuch.toml"),
    ("run", L2FWD, "--nosuch"),
    ("run", L2FWD, "--format", "xml"),
    ("run", L2FWD, "--set", "rx_descriptors"),
    ("run", L2FWD, "--set", "rx_descriptors=abc"),
    ("run", L2FWD, "--set", "rx_descriptor=1"),
    ("run", L2FWD, "--set", "platform=nosuch"),
    ("run", L2FWD, "--seed", "-1"),
    ("run", "experiments/ddio-bench/ddio-tune.toml"),
    ("experiment", "run", "nosuch"),
    ("experiment", "run", L2FWD),
    ("experiment", "show", "nosuch"),
    ("evidence", "--source", "nosuch"),
    ("evidence", "--experiments", "nosuch"),
    ("trace",),
    ("trace", "nosuch", "--machine", "three-level-lru"),
    ("trace", "nosuch"),
    ("trace", "--standard", "nosuch"),
    ("platforms", "show", "nosuch"),
    ("platforms", "check", L2FWD),
    ("budget", "nosuch"),
    ("calibrate", "nosuch.toml"),
    ("report", "nosuch"),
    ("schema", "nosuch"),
    ("demo", "--messages", "1"),
    ("host", "compare", "nosuch.toml"),
    ("completion", "tcsh"),
    ("sweep", L2FWD),
    ("sweep", "nosuch.toml", "--axis", "cores=1,2"),
    ("sweep", L2FWD, "--axis", "core=1,2"),
    ("sweep", L2FWD, "--axis", "cores=4..1:lin:2"),
    ("sweep", L2FWD, "--axis", "cores=1,2", "--axis", "cores=3"),
    ("sweep", L2FWD, "--axis", "flows=1..1000000:lin:1000000", "--axis", "cores=1,2"),
    ("sweep", L2FWD, "--axis", "cores=1,2", "--engine", "slurm"),
    ("sweep", L2FWD, "--axis", "cores=1,2", "--store", "no/such.duckdb"),
    ("store", "list", "nosuch.duckdb"),
    ("store", "merge", "all.duckdb", "nosuch.duckdb"),
    ("store", "forget", "nosuch.duckdb", "--failed"),
    ("advise", L2FWD, "--goal", "nosuch"),
    ("advise", L2FWD, "--goal", "p99", "--budget", "soon"),
    ("diff", "nosuch.json", "nosuch.json"),
    ("diff", L2FWD, L2FWD, "--gate", "p99"),
    ("diff", L2FWD, L2FWD, "--set-b", "core=1"),
]


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_bad_input_loads_nothing_heavy(skipline: Skipline, arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=skipline.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "2\n", done.stderr


def test_a_table_loads_what_draws_it(skipline: Skipline) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "budget"],
        cwd=skipline.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1].split()[:1] == ["0"]
    assert "rich" in done.stdout.splitlines()[-1].split()
