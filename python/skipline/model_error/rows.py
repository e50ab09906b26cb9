"""Simulated numbers beside measured ones: those of experiments, and those that were kept."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from skipline import resources
from skipline.model_error.kinds import KINDS, Kind
from skipline.text import csv_text

FILE = "experiments/model-errors.csv"
# What ran on one server with one machine's parameters, and the rates of another one; points that
# are left out: configurations that pktsize-desc has too, and DDIO off, for which the same number
# is stated.
EXPERIMENTS: Mapping[str, Mapping[str, int]] = {
    "pktsize-desc": {},
    "ddio-tune": {"ddio_ways": 2},
    "pkt-rate": {},
    "process-time": {},
    "cores": {"cores": 1},
    "packet-rate": {"ddio_ways": 0},
}
# Their latencies chose the generator's path, and say nothing of the server.
_CHOSE_THE_PATH = {"packet_bytes": 256}
_SERVERS_OWN = "latency_ns"
_GENERATORS = "generator_latency_ns"
# Digits that are kept.
_DIGITS = 6


class Row(NamedTuple):
    """One number of a kind: where it was measured, simulated and measured in the kind's unit.

    `basis` is whether its point chose a parameter.
    """

    kind: str
    experiment: str
    point: str
    basis: str
    simulated: float
    measured: float


@cache
def kept() -> tuple[Row, ...]:
    """Return the rows that this version was compared with."""
    records = csv_text.records(resources.read_text(FILE))
    return tuple(
        Row(
            record["kind"],
            record["experiment"],
            record["point"],
            record["basis"],
            float(record["simulated"]),
            float(record["measured"]),
        )
        for record in records
    )


def as_csv(rows: Sequence[Row]) -> str:
    """Write rows as they are kept."""
    numbers = ((*row[:4], *(f"{number:.{_DIGITS}g}" for number in row[4:])) for row in rows)
    return csv_text.from_rows(list(Row._fields), numbers)


def of_results(
    experiment: str, axes: Sequence[str], results: Sequence[Mapping[str, Any]]
) -> list[Row]:
    """Return the rows of an experiment's table, as `skipline experiment run --format json` has it.

    A number that was put in is none. Latencies are the server's own: what its generator adds is
    taken from the measured ones too.
    """
    points: dict[str, dict[str, Mapping[str, Any]]] = {}
    left_out = EXPERIMENTS[experiment].items()
    for row in results:
        if any(row[key] == value for key, value in left_out):
            continue
        point = " ".join(f"{key}={row[key]}" for key in axes)
        component = row["component"]
        name = row["metric"] if component is None else f"{row['metric']}.{component}"
        points.setdefault(point, {})[name] = row
    return [
        Row(kind.name, experiment, point, _basis(numbers), *pair)
        for kind in KINDS
        for point, numbers in points.items()
        for pair in _pairs(kind, numbers)
    ]


def _basis(numbers: Mapping[str, Mapping[str, Any]]) -> str:
    return str(next(iter(numbers.values()))["basis"])


def _pairs(kind: Kind, numbers: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[float, float]]:
    for metric in kind.metrics:
        if metric.startswith(f"{_SERVERS_OWN}."):
            compared = numbers.get(metric.replace(_SERVERS_OWN, _GENERATORS, 1))
            if compared is None or compared["measured"] is None:
                continue
            if any(compared.get(key) != value for key, value in _CHOSE_THE_PATH.items()):
                own = kind.times * numbers[metric]["predicted"]
                yield own, own + compared["measured"] - compared["predicted"]
        elif metric in numbers:
            row = numbers[metric]
            if row["measured"] is not None and not row["is_input"]:
                yield row["predicted"], row["measured"]
