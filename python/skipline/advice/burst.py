"""The largest burst that a receive ring takes before and after a change of its size."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from skipline.advice.evaluation import Candidate

_KEY = "rx_descriptors"
# FCS, preamble and gap of a packet on the wire.
_BESIDE_BYTES = 24


class Burst(NamedTuple):
    """Packets that one receive ring takes while its core does nothing, and how long they arrive.

    `then_us` is at the offered rate on one ring; None where packets have no one size.
    """

    tenant: str
    packets_now: int
    packets_then: int
    then_us: float | None
    offered_gbps: float

    @property
    def text(self) -> str:
        """The burst in a sentence for people."""
        whose = "" if self.tenant == "main" else f" of {self.tenant}"
        took = (
            f", {self.then_us:,.3g} µs at {self.offered_gbps:g} Gbit/s on one ring"
            if self.then_us is not None
            else ""
        )
        return (
            f"Burst: a ring{whose} then takes {self.packets_then:,} packets in a row{took} "
            f"({self.packets_now:,} now); what comes beyond waits in the card, or is dropped."
        )


def of_rings(candidate: Candidate, resolved: Mapping[str, Any]) -> Iterator[Burst]:
    """Yield the burst that each ring still takes that a candidate makes smaller."""
    for key, value in candidate:
        if key.rpartition(".")[2] != _KEY:
            continue
        parts = key.split(".")
        keys = resolved if len(parts) == 1 else resolved["tenant"][int(parts[1])]
        now, then = int(keys[_KEY]), int(value)
        offered = keys.get("offered_gbps")
        if then >= now or not offered:
            continue
        size = keys.get("packet_bytes")
        took = None if not size else then * (size + _BESIDE_BYTES) * 8 / offered / 1e3
        yield Burst(str(keys.get("name") or "main"), now, then, took, float(offered))
