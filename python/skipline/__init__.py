"""Skipline predicts where I/O data goes in a server: cache, memory, link.

>>> import skipline
>>> result = skipline.run("experiments/ddio-bench/l2fwd.toml", rx_descriptors=1024)
>>> result.scalar("pcie_write_hit_rate")
>>> result.to_frame()

>>> skipline.trace(numpy.arange(0, 1 << 30, 64), "three-level-lru").levels[0].misses
"""

# Nothing is loaded here: the command handles Ctrl-C before it loads what takes time. Type checkers
# take this name for true.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from skipline._core import InputError, RunError
    from skipline.runs.result import Metric, NoSuchNumber, Result
    from skipline.runs.simulation import run
    from skipline.store.store import Store
    from skipline.sweeps.call import sweep
    from skipline.traces.replay import TraceResult, standard_trace, trace

    __version__: str

__all__ = [
    "InputError",
    "Metric",
    "NoSuchNumber",
    "Result",
    "RunError",
    "Store",
    "TraceResult",
    "__version__",
    "run",
    "standard_trace",
    "sweep",
    "trace",
]


def __getattr__(name: str) -> object:
    """Import a name when it is first used, so that the command line starts quickly."""
    if name in ("InputError", "RunError", "__version__"):
        from skipline import _core

        return _core.version() if name == "__version__" else getattr(_core, name)
    if name in ("Metric", "NoSuchNumber", "Result"):
        from skipline.runs import result

        return getattr(result, name)
    if name in ("TraceResult", "standard_trace", "trace"):
        from skipline.traces import replay

        return getattr(replay, name)
    if name == "run":
        from skipline.runs.simulation import run

        return run
    if name == "Store":
        from skipline.store.store import Store

        return Store
    if name == "sweep":
        from skipline.sweeps.call import sweep

        return sweep
    raise AttributeError(f"module 'skipline' has no attribute '{name}'")
