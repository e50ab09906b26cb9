"""Skipline predicts where I/O data goes in a server: cache, memory, link.

>>> import skipline
>>> result = skipline.run("experiments/ddio-bench/l2fwd.toml", {"rx_descriptors": 1024})
>>> result.scalar("pcie_write_hit_rate")
"""

from skipline._core import InputError, RunError
from skipline._core import version as _version
from skipline.result import Metric, Result
from skipline.simulation import run

__version__ = _version()
__all__ = ["InputError", "Metric", "Result", "RunError", "__version__", "run"]
