"""Columns of Arrow as those of a frame of polars, and the values that would not stay themselves."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

_TYPED = re.compile(
    r"BOOLEAN|U?(TINYINT|SMALLINT|INTEGER|BIGINT)|HUGEINT|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|VARCHAR|"
    r"DATE|TIME|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?"
)
_DAY = timedelta(days=1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_PER_S = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_US_OF_DAY = 86_400 * 10**6
# DuckDB's infinite times.
_INFINITE = 2**63 - 1
_MOST_DIGITS = Decimal(10) ** 38


def has_type(kind: str) -> bool:
    """Return whether a frame has a type for what DuckDB calls `kind`."""
    return _TYPED.fullmatch(kind) is not None


def frame(table: "pa.Table") -> "pl.DataFrame":
    """Return a table as a frame."""
    import polars as pl

    found = pl.from_arrow(table)
    return found if isinstance(found, pl.DataFrame) else found.to_frame()


def misfits(table: "pa.Table") -> set[int]:
    """Return the columns with a value that Python or polars has not: year 290000, 24:00, infinity.

    polars takes them, and fails or shows another value when they are read.
    """
    return {at for at, column in enumerate(table.columns) if not _fits(column)}


def _fits(column: "pa.ChunkedArray") -> bool:
    import polars as pl
    import pyarrow as pa

    if pa.types.is_time64(column.type):
        # polars takes 24:00 for no value.
        return _within(pl.Series(column.cast(pa.int64())), 0, _US_OF_DAY - 1)
    try:
        series = pl.Series(column)
        check = _CHECKS.get(str(series.dtype.base_type()))
        return check is None or check(series)
    except (pl.exceptions.PolarsError, ValueError, ArithmeticError, LookupError, OSError):
        return False  # a time zone that is not known here, for one


def _dates(series: "pl.Series") -> bool:
    return _within(series, 1 - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY)


def _times(series: "pl.Series") -> bool:
    dtype: Any = series.dtype
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    if dtype.time_zone is not None:
        ZoneInfo(dtype.time_zone)
        # What is the last day here is the first of the next year elsewhere.
        first, last = first + _DAY, last - _DAY
    unit = _PER_S[dtype.time_unit]
    low, high = (_seconds(one) * unit for one in (first, last))
    return _within(series, max(low, 1 - _INFINITE), min(high + unit - 1, _INFINITE - 1))


def _seconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


def _decimals(series: "pl.Series") -> bool:
    dtype: Any = series.dtype
    # An integer of 128 bits may have a digit more than a decimal.
    low, high = (Decimal(str(one or 0)) for one in (series.min(), series.max()))
    return dtype.scale > 0 or -_MOST_DIGITS < low <= high < _MOST_DIGITS


def _within(series: "pl.Series", low: int, high: int) -> bool:
    numbers = series.to_physical().drop_nulls()
    least: Any = numbers.min()
    most: Any = numbers.max()
    return least is None or (low <= least and most <= high)


_CHECKS: "dict[str, Callable[[pl.Series], bool]]" = {
    "Date": _dates,
    "Datetime": _times,
    "Decimal": _decimals,
}
