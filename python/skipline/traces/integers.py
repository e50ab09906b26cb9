"""Arrays of whole numbers as the core takes them: unsigned, all of one width."""

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

from skipline._core import InputError

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from typing_extensions import Buffer

    Integers: TypeAlias = "Buffer | Sequence[int] | SupportsArray"

Bits = Literal[8, 64]
# Letters of Python's `struct` and `array` for unsigned integers of this machine.
_LETTERS: dict[Bits, str] = {8: "B", 64: "LQ"}
_ALLOWED = "allowed: arrays of integers (numpy, array, a list, a range)"


class SupportsArray(Protocol):
    """An object that numpy makes an array of: its own arrays, columns of data frames."""

    def __array__(self) -> Any:
        """Return the array."""


def unsigned(name: str, values: "Integers", bits: Bits) -> "Buffer":
    """Return numbers as an array of unsigned integers of so many bits.

    What is one already is returned as it is, signed numbers of this width are seen as unsigned
    ones; all others are copied. Raises InputError, with `name`, for a number that does not fit.
    """
    view = _view(values)
    if view is not None and view.ndim == 0:
        raise InputError(f"{name}: a single {type(values).__name__}; {_ALLOWED}")
    if view is not None and view.itemsize * 8 == bits and view.format in _LETTERS[bits]:
        return view
    if isinstance(values, bytes | bytearray):
        raise InputError(
            f"{name}: bytes, which may hold numbers of any width; {_ALLOWED}, for example "
            f"numpy.frombuffer(data, 'uint{bits}'), or the path of the file"
        )
    if view is not None or hasattr(values, "__array__"):
        return _of_array(name, values, bits)
    if isinstance(values, Sequence):
        return _of_sequence(name, values, bits)
    raise InputError(f"{name}: this is of type {type(values).__name__}; {_ALLOWED}")


def _view(values: object) -> memoryview | None:
    """Return a view of an array's numbers, None for what has none, as dates of numpy."""
    try:
        return memoryview(values)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        return None


def _of_array(name: str, values: object, bits: Bits) -> "Buffer":
    import numpy

    numbers = numpy.asarray(values)
    if numbers.dtype == object:
        return _of_sequence(name, numbers.tolist(), bits)
    if numbers.dtype.kind not in "iu":
        raise InputError(
            f"{name}: an array of {numbers.dtype}; {_ALLOWED}; numbers that are whole are "
            f"converted by numpy's .astype('uint{bits}')"
        )
    _refuse_outside(name, numbers, bits)
    wanted = numpy.dtype(f"uint{bits}")
    if numbers.dtype.itemsize == wanted.itemsize and numbers.dtype.isnative:
        return cast("Buffer", numbers.view(wanted))
    return cast("Buffer", numbers.astype(wanted))


def _refuse_outside(name: str, numbers: "NDArray[numpy.integer[Any]]", bits: Bits) -> None:
    """Refuse the first number that is negative, then the first that is too large."""
    import numpy

    range_of = numpy.iinfo(numbers.dtype)
    most = (1 << bits) - 1
    if range_of.min < 0 and numbers.size and numbers.min() < 0:
        outside = numbers < 0
    elif range_of.max > most and numbers.size and numbers.max() > most:
        outside = numbers > most
    else:
        return
    index = int(outside.argmax())
    raise InputError(_outside(name, index, int(numbers.flat[index]), bits))


def _of_sequence(name: str, values: Sequence[int], bits: Bits) -> "Buffer":
    try:
        return array(_LETTERS[bits][-1], values)
    except (TypeError, OverflowError) as error:
        for index, value in enumerate(values):
            if not hasattr(value, "__index__"):
                of_type = f"is {value!r} of type {type(value).__name__}, not a whole number"
                raise InputError(f"{name}: index {index} {of_type}") from error
            if not 0 <= value < 1 << bits:
                raise InputError(_outside(name, index, value, bits)) from error
        raise


def _outside(name: str, index: int, value: int, bits: Bits) -> str:
    return f"{name}: index {index} is {value}; allowed: whole numbers from 0 to 2^{bits} - 1"
