"""Skipline predicts where I/O data goes in a server: cache, memory, link.

>>> import skipline
>>> result = skipline.run("experiments/ddio-bench/l2fwd.toml", rx_descriptors=1024)
>>> result["pcie_write_hit_rate"].unit
'percent'
>>> skipline.trace(range(0, 1 << 20, 64), "three-level-lru").levels[0].misses
16384

`run`, `trace`, `sweep`, `advise` and `evidence` do what the commands of these names do; `plot`
draws a figure of a sweep. The first two need nothing else; the others, and data frames, need
extras, of which they name the one missing.
"""

# Nothing is loaded here: the command handles Ctrl-C before it loads what takes time. Type checkers
# take this name for true.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from skipline._core import InputError, RunError
    from skipline.advice.advice import Advice
    from skipline.advice.call import advise
    from skipline.claims.call import evidence
    from skipline.claims.evidence import Evidence
    from skipline.extras import MissingExtra
    from skipline.report.plot import Plot, plot
    from skipline.runs.result import Metric, NoSuchNumber, Result
    from skipline.runs.simulation import run
    from skipline.store.store import Store
    from skipline.sweeps.call import sweep
    from skipline.traces.replay import Level, TraceResult, standard_trace, trace

    __version__: str

# The module of each name, in which it has the same name.
_MODULES = {
    "Advice": "skipline.advice.advice",
    "Evidence": "skipline.claims.evidence",
    "InputError": "skipline._core",
    "Level": "skipline.traces.replay",
    "Metric": "skipline.runs.result",
    "MissingExtra": "skipline.extras",
    "NoSuchNumber": "skipline.runs.result",
    "Plot": "skipline.report.plot",
    "Result": "skipline.runs.result",
    "RunError": "skipline._core",
    "Store": "skipline.store.store",
    "TraceResult": "skipline.traces.replay",
    "advise": "skipline.advice.call",
    "evidence": "skipline.claims.call",
    "plot": "skipline.report.plot",
    "run": "skipline.runs.simulation",
    "standard_trace": "skipline.traces.replay",
    "sweep": "skipline.sweeps.call",
    "trace": "skipline.traces.replay",
}

__all__ = [
    "Advice",
    "Evidence",
    "InputError",
    "Level",
    "Metric",
    "MissingExtra",
    "NoSuchNumber",
    "Plot",
    "Result",
    "RunError",
    "Store",
    "TraceResult",
    "__version__",
    "advise",
    "evidence",
    "plot",
    "run",
    "standard_trace",
    "sweep",
    "trace",
]


def __dir__() -> list[str]:
    """Name what there is, as nothing of it is loaded yet."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import a name when it is first used, so that the command line starts quickly."""
    if name == "__version__":
        from skipline import _core

        return _core.version()
    if name not in _MODULES:
        raise AttributeError(f"module 'skipline' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)
