"""Arrays of whole numbers of any type are taken for what they say, or refused with the reason."""

import ctypes
import sys
from array import array
from collections.abc import Sequence
from typing import Any

import numpy
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipline import InputError
from skipline.traces.integers import Bits, unsigned

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
WIDTHS: st.SearchStrategy[Bits] = st.sampled_from((8, 64))


def read(values: Any, bits: Bits = 64) -> list[int]:
    """The numbers that the core is given."""
    view = memoryview(unsigned("addresses", values, bits))
    assert view.itemsize * 8 == bits and view.format in ("B", "L", "Q")
    return view.tolist()


def first_outside(values: Sequence[int], bits: Bits) -> int | None:
    return next((at for at, value in enumerate(values) if not 0 <= value < 1 << bits), None)


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Arrays of numpy of any integer type, byte order and step."""
    kind: Any = numpy.dtype(draw(st.sampled_from(INTEGERS))).newbyteorder(
        draw(st.sampled_from("<>"))
    )
    limits = numpy.iinfo(kind)
    numbers = st.integers(int(limits.min), int(limits.max)) | st.integers(0, 127)
    step = draw(st.sampled_from((1, 2, -1)))
    return numpy.array(draw(st.lists(numbers)), dtype=kind)[::step]


@given(arrays(), WIDTHS)
def test_an_array_of_any_type_is_taken_if_its_numbers_fit(values: Any, bits: Bits) -> None:
    numbers = [int(value) for value in values]
    if first_outside(numbers, bits) is None:
        assert read(values, bits) == numbers
        return
    with pytest.raises(InputError) as refusal:
        unsigned("addresses", values, bits)
    wrong = [f"index {at} is {n}; " for at, n in enumerate(numbers) if not 0 <= n < 1 << bits]
    assert any(told in str(refusal.value) for told in wrong)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(-2, 2**66)), WIDTHS)
def test_a_list_is_taken_if_its_numbers_fit(values: list[int], bits: Bits) -> None:
    wrong = first_outside(values, bits)
    if wrong is None:
        assert read(values, bits) == read(tuple(values), bits) == values
        assert read(numpy.array(values, dtype=object), bits) == values
        return
    refusal = f"addresses: index {wrong} is {values[wrong]}; allowed: whole numbers from 0 to"
    with pytest.raises(InputError, match=refusal):
        unsigned("addresses", values, bits)


@pytest.mark.parametrize("kind", ["uint64", "int64"])
def test_integers_of_64_bits_are_not_copied(kind: str) -> None:
    values = numpy.arange(8, dtype=kind)
    for given_ in (values, values[::2], values[::-1]):
        taken = numpy.asarray(unsigned("addresses", given_, 64))
        assert numpy.shares_memory(taken, values)
        assert taken.tolist() == given_.tolist()


def test_arrays_of_others_than_numpy_are_taken() -> None:
    expected = [0, 64, 2**31]
    assert read(array("Q", expected)) == expected
    assert read(array("I", expected)) == expected
    assert read(array("q", expected)) == expected
    assert read((ctypes.c_uint64 * 3)(*expected)) == expected
    assert read(range(0, 192, 64)) == [0, 64, 128]
    assert read(memoryview(array("Q", expected).tobytes()).cast("Q")) == expected
    assert read(polars.Series(expected)) == expected


def test_an_array_of_this_machine_needs_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert read(array("Q", [1, 2])) == read([1, 2]) == [1, 2]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (numpy.array([0.5]), r"an array of float64; .* converted by numpy's \.astype\('uint64'\)"),
        (numpy.array([True]), "an array of bool"),
        (numpy.array(["2020-01-01"], dtype="datetime64[s]"), "an array of datetime64"),
        (numpy.array(["a"]), "an array of <U1"),
        (array("d", [1.0]), "an array of float64"),
        ([0, 0.5], "index 1 is 0.5 of type float, not a whole number"),
        (["0x40"], "index 0 is '0x40' of type str"),
        ([[1], [2]], r"index 0 is \[1\] of type list"),
        (b"\0" * 8, r"bytes, .*numpy\.frombuffer\(data, 'uint64'\)"),
        (bytearray(8), "bytes, which"),
        (5, "of type int; allowed: arrays of integers"),
        (numpy.int64(5), "a single int64; allowed"),
        ({1, 2}, "of type set"),
        (iter([1]), "of type list_iterator"),
        (None, "of type NoneType"),
    ],
)
def test_what_is_no_array_of_integers_is_refused_and_why(values: Any, expected: str) -> None:
    with pytest.raises(InputError, match=f"^addresses: .*{expected}"):
        unsigned("addresses", values, 64)
