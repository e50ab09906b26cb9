"""The simulators that are compared with those by others."""

from collections.abc import Callable

from parity import referee
from parity.referee import Counts, Machine
from parity.skipline_trace import skipline_levels
from parity.traces import Trace

Subject = Callable[[Trace, Machine], dict[str, Counts]]

SUBJECTS: dict[str, Subject] = {"referee": referee.levels_of, "skipline": skipline_levels}
