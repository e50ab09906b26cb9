"""Settings of `skipline.run`: mappings, keywords and values become keys and TOML exactly."""

import enum
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipline import InputError
from skipline.scenarios import settings

BITS = 63
NAMES = st.sampled_from(("a", "b", "cores", "ddio_ways", "run", "rx_descriptors"))
WHOLE = st.integers(-(2**BITS), 2**BITS - 1)
# A surrogate alone is no text of any file.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.booleans() | WHOLE | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20
)
TABLES = st.dictionaries(
    NAMES,
    st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, min_size=1), max_leaves=10),
)


def read(literal: str) -> Any:
    value = tomllib.loads(f"value = {literal}")["value"]
    # The core's reader takes longer integers for texts, Python's does not.
    assert all(-(2**BITS) <= whole < 2**BITS for whole in integers(value))
    return value


def integers(value: Any) -> Iterator[int]:
    if isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from integers(inner)
    elif isinstance(value, int):
        yield value


def dotted(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a table and of those in it."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= {f"{key}.{inner}": entry for inner, entry in dotted(value).items()}
        else:
            found[key] = value
    return found


@given(VALUES)
def test_every_value_is_read_back_from_its_toml(value: object) -> None:
    again = read(settings.toml_literal(value))
    assert again == value
    # True == 1, and a key for one refuses the other.
    assert isinstance(again, bool) == isinstance(value, bool)


@given(st.data())
def test_every_number_of_numpy_is_read_back_from_its_toml(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from("bhilqBHILQefd?"))
    of_kind = numpy.dtype(kind).type
    if of_kind is numpy.bool_:
        value = of_kind(data.draw(st.booleans()))
    elif numpy.dtype(kind).kind == "f":
        width: Any = 8 * numpy.dtype(kind).itemsize
        value = of_kind(data.draw(st.floats(allow_nan=False, width=width)))
    else:
        limits = numpy.iinfo(of_kind)
        most = min(int(limits.max), 2**BITS - 1)
        value = of_kind(data.draw(st.integers(int(limits.min), most)))
    assert read(settings.toml_literal(value)) == value


@given(TABLES)
def test_mappings_paths_and_keywords_are_the_same_settings(table: dict[str, Any]) -> None:
    paths = settings.of_python(dotted(table), {})
    assert settings.of_python(table, {}) == paths
    assert settings.of_python({}, table) == paths
    keywords = {key.replace(".", "__"): value for key, value in dotted(table).items()}
    assert settings.of_python({}, keywords) == paths


@given(TABLES.filter(bool), st.data())
def test_a_key_in_both_ways_is_refused_whatever_its_values(
    table: dict[str, Any], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(sorted(dotted(table))))
    with pytest.raises(InputError, match=f"`{key}`: stated twice"):
        settings.of_python(table, {key.replace(".", "__"): 1})


@pytest.mark.parametrize("first", [[{"cores": 1}], "a text"])
def test_a_value_and_a_key_in_it_are_refused_in_either_order(first: object) -> None:
    refusal = "`co_runner` is stated whole, and `co_runner.0.cores`, which is in it, apart"
    whole, part = {"co_runner": first}, {"co_runner": {0: {"cores": 2}}}
    for one, other in ((whole, part), (part, whole)):
        with pytest.raises(InputError, match=refusal):
            settings.of_python(one, other)


def test_names_that_begin_alike_are_no_conflict() -> None:
    pairs = settings.of_python({"ddio": 1}, {"ddio_ways": 2})
    assert pairs == [("ddio", "1"), ("ddio_ways", "2")]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"run": {}}, "`run`: this mapping is empty"),
        ({None: 1}, "None: a key is a text"),
        ({"run": {2.5: 1}}, "2.5: a key is a text"),
        ({"cores": 2**BITS}, "`cores`: 9223372036854775808 has more than 64 bits"),
        ({"a": [{"b": -(2**BITS) - 1}]}, "`a`: -9223372036854775809 has more than 64 bits"),
        ({"cores": {1, 2}}, r"`cores`: {1, 2} is of type set; allowed: texts, paths"),
        ({"run": {"seed": None}}, "`run.seed`: None is of type NoneType"),
        ({"cores": 2j}, "`cores`: 2j is of type complex"),
    ],
)
def test_what_no_scenario_can_have_is_refused_and_why(overrides: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        settings.of_python(overrides, {})


def test_numbers_with_names_are_written_as_numbers() -> None:
    cores = enum.IntEnum("cores", {"FEW": 2})

    class Size(int, enum.Enum):
        SMALL = 64

    assert settings.toml_literal([cores.FEW, Size.SMALL]) == "[2, 64]"


def test_paths_are_texts() -> None:
    assert settings.toml_literal([Path("a b/c.pcap")]) == '["a b/c.pcap"]'
