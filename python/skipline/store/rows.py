"""Rows that workers send to the writer: points with their numbers, as Arrow record batches."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from skipline.runs.result import Result
from skipline.store import kept_results

if TYPE_CHECKING:
    from collections.abc import Sequence

# `lost`: the workers that simulated it were ended from outside; it is tried again.
Status = Literal["done", "failed", "lost"]

NUMBER = pa.struct(
    [
        ("metric", pa.string()),
        ("component", pa.string()),
        ("value", pa.float64()),
        ("ci95", pa.float64()),
        ("unit", pa.string()),
    ]
)
POINT = [
    ("question", pa.string()),
    ("simulator", pa.string()),
    ("scenario", pa.string()),
    ("settings", pa.string()),
    ("seed", pa.uint64()),
    ("status", pa.string()),
    ("error", pa.string()),
    ("platform", pa.string()),
    ("version", pa.string()),
    ("settled", pa.bool_()),
    ("answer", pa.string()),
    ("simulated_ns", pa.float64()),
    ("line_ops", pa.uint64()),
    ("wall_s", pa.float64()),
    ("finished_at", pa.timestamp("us")),
    ("provenance", pa.string()),
    ("digest", pa.string()),
]
SCHEMA = pa.schema([*POINT, ("numbers", pa.list_(NUMBER))])


def now() -> datetime:
    """Return the time in UTC, as stores have it."""
    return datetime.now(UTC).replace(tzinfo=None)


def of_result(result: Result) -> dict[str, Any]:
    """Return the columns that a finished run fills."""
    kept = kept_results.from_result(result)
    return {
        "status": "done",
        "platform": result.platform,
        "version": result.version,
        "settled": result.settled,
        "answer": result.answer,
        "simulated_ns": result.simulated_ns,
        "line_ops": result.line_ops,
        "provenance": kept.provenance,
        "digest": kept.digest,
        "numbers": [entry._asdict() for entry in kept.numbers],
    }


def pack(rows: "Sequence[dict[str, Any]]") -> bytes:
    """Write rows as an Arrow stream."""
    batch = pa.RecordBatch.from_pylist(list(rows), schema=SCHEMA)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def unpack(packed: bytes) -> pa.Table:
    """Read such a stream."""
    with pa.ipc.open_stream(packed) as reader:
        return reader.read_all()
