"""Starts a simulation in the compiled core."""

from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING

from skipline import _core
from skipline._core import InputError
from skipline.scenarios import settings

if TYPE_CHECKING:
    from skipline.runs.result import Result

Progress = Callable[[dict[str, float]], None]
# People try these as arguments.
_OPTIONS = {"explain", "repeats", "all", "perfetto"}


def run(
    scenario: str | PathLike[str],
    overrides: Mapping[str, object] | None = None,
    *,
    seed: int | None = None,
    trace_packet: int | None = None,
    progress: Progress | None = None,
    trace_descriptor: int | None = None,
    **keys: object,
) -> "Result":
    """Simulate the scenario at a path on disk or of a built-in file.

    `overrides` and `keys` replace keys of the scenario. `overrides` names a key in a table by its
    path (`{"run.max_batches": 10}`) or in a mapping (`{"run": {"max_batches": 10}}`), which leaves
    the other keys of the table as they are. `keys` are the same as arguments, with two underscores
    for the dot (`rx_descriptors=1024, run__max_batches=10`). Values are those of Python or numpy; a
    `str` is a text whatever it says.
    `trace_packet` and `trace_descriptor` number what `result.trace` and `result.descriptor_trace`
    then tell of.
    `progress` is called about ten times a second with packets, fraction (0 to 1), simulated_ns.
    Raises InputError for bad input, also for a key that is stated twice; RunError if the run cannot
    finish.

    >>> import skipline
    >>> scenario = "experiments/ddio-bench/l2fwd.toml"
    >>> short = {"run": {"batch_packets": 1024, "max_batches": 10}}
    >>> result = skipline.run(scenario, short, rx_descriptors=1024)
    >>> result.platform, result.scenario["rx_descriptors"]
    ('skylake-gold-6140', 1024)
    >>> 0 <= result.scalar("pcie_write_hit_rate") <= 100  # percent
    True
    >>> result["latency_ns.p99"].unit
    'ns'
    """
    from skipline.runs.result import parse

    if options := _OPTIONS & keys.keys():
        raise InputError(
            f"`{min(options)}` is an option of the command `skipline run`, not a key of scenarios; "
            "who evicted whom is in result['evictions']"
        )
    pairs = settings.of_python(overrides or {}, keys)
    text = _core.run(
        scenario, pairs, seed, trace_packet, progress, trace_descriptor=trace_descriptor
    )
    return parse(text, fspath(scenario))
