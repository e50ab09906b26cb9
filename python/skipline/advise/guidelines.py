"""Published guidelines, and whether the user's own numbers bear them out.

Each is about one knob in one direction. Its evidence is what that change alone does to the goal.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from skipline.advise.evaluation import Candidate
from skipline.advise.knobs import Knob
from skipline.advise.search import Tried, changed

# Less is within the noise of short runs.
_LEAST_PERCENT = 1.0


class Guideline(NamedTuple):
    """What was published on a knob; `applies` tells the values that follow it."""

    claim: str
    source: str
    text: str
    knob: str
    applies: Callable[[int, int], bool]


class Evidence(NamedTuple):
    """A guideline with the value that follows it best here, and what that alone brings."""

    guideline: Guideline
    key: str
    value: str
    percent: float

    @property
    def verdict(self) -> str:
        """Whether the numbers here agree with it."""
        if abs(self.percent) < _LEAST_PERCENT:
            return "makes no difference here"
        return "confirmed here" if self.percent > 0 else "contradicted here"


_ATC = "ATC'20, section 9"
_DSA = "ASPLOS'24, guidelines"


def _more(value: int, now: int) -> bool:
    return value > now


def _fewer(value: int, now: int) -> bool:
    return value < now


def _off(value: int, now: int) -> bool:
    return value == 0 < now


ALL = (
    Guideline("atc-24", _ATC, "more DDIO ways help what is bound by I/O", "ddio_ways", _more),
    Guideline("atc-24", _ATC, "more cores help what is bound by the CPU", "cores", _more),
    Guideline("atc-24", _ATC, "too many cores hurt", "cores", _fewer),
    Guideline(
        "atc-32", "ATC'20", "fewer descriptors keep packets in the cache", "rx_descriptors", _fewer
    ),
    Guideline(
        "atc-24", _ATC, "low-priority traffic should bypass the cache", "tenant.ddio_ways", _off
    ),
    Guideline(
        "atc-31", "ATC'20", "throttle memory-hungry neighbours", "co_runner.mba_percent", _fewer
    ),
    Guideline("dsa-23", _DSA, "batch small transfers", "offload.batch", _more),
    Guideline("dsa-23", _DSA, "go asynchronous", "offload.depth", _more),
    Guideline(
        "dsa-23", _DSA, "write to memory what is not read soon", "offload.cache_control", _off
    ),
    Guideline("dsa-23", _DSA, "use engines in parallel", "dsa.engines", _more),
)


def judged(knobs: Sequence[Knob], tried: Sequence[Tried]) -> Iterator[Evidence]:
    """Yield the guidelines of which a change alone was tried."""
    costs = {one.candidate: one.cost for one in tried}
    now: float | None = costs.get(())
    if now is None:
        return
    for guideline in ALL:
        for knob in knobs:
            if _kind(knob.key) != guideline.knob:
                continue
            found = list(_alone(guideline, knob, costs, now))
            if found:
                yield max(found, key=lambda one: one.percent)


def _alone(
    guideline: Guideline, knob: Knob, costs: dict[Candidate, float | None], now: float
) -> Iterator[Evidence]:
    for value in knob.values:
        cost = costs.get(changed(knob, (), value))
        if value == knob.now or cost is None or not guideline.applies(int(value), int(knob.now)):
            continue
        percent = 100 * (now - cost) / abs(now) if now else 0.0
        yield Evidence(guideline, knob.key, value, percent)


def _kind(key: str) -> str:
    """Return a key without numbers of lists: `tenant.0.ddio_ways` is `tenant.ddio_ways`."""
    return ".".join(part for part in key.split(".") if not part.isdigit())
