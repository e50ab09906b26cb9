"""Frames that join numbers of points and their state."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from skipline.store.store import Store

if TYPE_CHECKING:
    import polars as pl


def with_state(
    store: Store, sweep: int | None, metrics: Sequence[str] | None, *, failed: bool
) -> "pl.DataFrame":
    """Return axes, seed, numbers and `state`: done, unsettled, stale, missing, or the error."""
    import polars as pl

    points = store.points(sweep)
    state = (
        pl.when(pl.col("status").is_null())
        .then(pl.lit("missing"))
        .when(pl.col("stale"))
        .then(pl.lit("stale"))
        .when(pl.col("status") != "done")
        .then(pl.concat_str(pl.col("status"), pl.lit(": "), pl.col("error")))
        .when(~pl.col("settled"))
        .then(pl.lit("unsettled"))
        .otherwise(pl.lit("done"))
        .alias("state")
    )
    found = store.frame(metrics, sweep).with_columns(points.select(state))
    return found.filter(~pl.col("state").is_in(["done", "unsettled"])) if failed else found
