"""Numbers are printed with the digits that their interval supports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipline.text import quantity
from skipline.text.quantity import Number


@pytest.mark.parametrize(
    ("value", "ci95", "unit", "expected"),
    [
        (63.3957, 1.4837, "percent", ("63.4", "± 1.5", "%")),
        (99.9999, None, "percent", ("100.00", "", "%")),
        (12345678, None, "lines", ("12,345,678", "", "lines")),
        (512.25, 3.0, "ns", ("512.2", "± 3.0", "ns")),
        (512_250.0, 3000.0, "ns", ("512.2", "± 3.0", "µs")),
        (4 * 2**20, 2**18, "bytes", ("4.00", "± 0.25", "MiB")),
        (0.0, 0.0, "Mpps", ("0.000", "± 0", "Mpps")),
        (89.62, 0.001, "Gbit/s", ("89.62", "± <0.01", "Gbit/s")),
        (4255.0, 12.3, "lines", ("4,255", "± 12", "lines")),
        (30.69, 0.02, "lines", ("30.69", "± 0.02", "lines")),
        (None, None, "percent", ("–", "", "%")),
    ],
)
def test_value_interval_and_unit(
    value: Number, ci95: Number, unit: str, expected: tuple[str, str, str]
) -> None:
    assert quantity.text(value, ci95, unit) == expected


@given(
    st.floats(0, 1e12), st.floats(0, 1e6) | st.none(), st.sampled_from(["ns", "bytes", "1/s", ""])
)
def test_what_is_printed_stays_within_half_a_percent(
    value: float, ci95: float | None, unit: str
) -> None:
    shown = quantity.text(value, ci95, unit)
    factors = {"µs": 1e3, "ms": 1e6, "KiB": 2**10, "MiB": 2**20, "k/s": 1e3, "M/s": 1e6}
    printed = float(shown.value.replace(",", "")) * factors.get(shown.unit, 1)
    tolerance = max(0.005 * value, (ci95 or 0.0), 1e-4)
    assert abs(printed - value) <= tolerance
