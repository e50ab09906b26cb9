"""Expressions of claims compute what they say, and nothing but arithmetic and the given calls."""

import ast
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipline.experiment.expression import ExpressionError, evaluate
from skipline.experiment.list_functions import LIST_FUNCTIONS

FUNCTIONS = {**LIST_FUNCTIONS, "axis": lambda: [1.0, 2.0, 4.0]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7.0),
        ("-2 ** 2", -4.0),
        ("(1 +\n 2)", 3.0),
        ("1 < 2 < 3", True),
        ("1 < 2 and not 3 < 2", True),
        ("2 if 1 > 2 else 3", 3.0),
        ("axis() * 2", [2.0, 4.0, 8.0]),
        ("axis() / axis()", [1.0, 1.0, 1.0]),
        ("axis() > 1", [False, True, True]),
        ("1 <= axis() < 4", [True, True, False]),
        ("all(axis() > 0) and any(axis() > 3)", True),
        ("axis()[1:]", [2.0, 4.0]),
        ("axis()[-1]", 4.0),
        ("max(axis()) - min(1, 5)", 3.0),
        ("mean(axis()[:2])", 1.5),
        ("median([3, 1, 2])", 2.0),
        ("sum(abs([-1, 1]))", 2.0),
        ("sorted([2, 1])", [1.0, 2.0]),
        ("round(1.26, 1)", 1.3),
        ("len(axis())", 3.0),
        ("rises(axis())", True),
        ("rises(axis(), by=1.5)", False),
        ("rises([1, 0.8, 2], by=-0.5)", True),
        ("rises([1, 1, 1])", False),
        ("rises([2, 1.8, 2], by=-0.5)", False),
        ("rises([1, 1, 2])", True),
        ("falls([3, 2, 1], by=1)", True),
        ("falls([2, 2])", False),
        ("falls(axis())", False),
        ("within(axis(), 3)", True),
        ("within(axis(), 2.9)", False),
        ("'a' == 'a'", True),
        ("first(axis(), axis() > 1)", 2.0),
        ("first(['a', 'b'], [False, True])", "b"),
        ("first(axis(), axis() > 9)", float("inf")),
        ("crossing(axis(), [-1, -1, 1])", 2.0 * 2.0**0.5),
        ("crossing(axis(), [-1, 3, 1])", 2.0**0.25),
        ("crossing(axis(), [-1, 0, 1])", 2.0),
        ("crossing(axis(), [1, -1, 1])", 2.0 * 2.0**0.5),
        ("crossing(axis(), [1, 1, 1])", 1.0),
        ("crossing(axis(), [1, 1, -1])", float("inf")),
    ],
)
def test_an_expression_has_its_value(text: str, value: object) -> None:
    assert evaluate(text, FUNCTIONS) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 +", "not an expression"),
        ("1; 2", "not an expression"),
        ("x", "'x': not a value"),
        ("risen(axis())", r"'risen\(\)': unknown.*did you mean 'rises'"),
        ("axis().append", "not allowed"),
        ("(1).real", "not allowed"),
        ("axis.__class__", "not allowed"),
        ("[x for x in axis()]", "not allowed"),
        ("lambda: 1", "not allowed"),
        ("f'{1}'", "not allowed"),
        ("(y := 1)", "not allowed"),
        ("{1: 2}", "not allowed"),
        ("axis()()", "cannot be called"),
        ("__import__('os')", "unknown"),
        ("1 / 0", "division by zero"),
        ("10.0 ** 400", "too large"),
        ("1" + "0" * 400, "too large"),
        ("'a' * 1000000000", "'a' is not a number"),
        ("1 // 2", "not allowed"),
        ("[1, 2] + [1]", "lists of 2 and 1"),
        ("axis() and True", r"ask all\(\) or any\(\)"),
        ("axis()[9]", "the list has 3 values"),
        ("axis()[0.5]", "not a whole number"),
        ("1 < 'a'", "cannot be compared"),
        ("max()", "of nothing"),
        ("all([1])", "true or false"),
        ("rises([1])", "two or more"),
        ("first(axis(), [True])", r"first\(\) needs two lists"),
        ("first(axis(), axis())", "true or false"),
        ("first([], [])", "two lists"),
        ("crossing(axis(), 1)", r"crossing\(\) needs two lists"),
        ("crossing([2, 1], [1, 1])", "that rise"),
        ("crossing([0, 1], [1, 1])", "above 0"),
        ("(" * 1500 + "1" + ")" * 1500, "nested"),
        ("1 +" * 2000 + "1", "longer than"),
        ("max(**1)", "not allowed"),
        ("max(*axis())", "not allowed"),
    ],
)
def test_anything_else_is_refused_with_its_reason(text: str, told: str) -> None:
    with pytest.raises(ExpressionError, match=told):
        evaluate(text, FUNCTIONS)


names = st.sampled_from(["axis", "max", "os", "x", "__class__", "__import__", "print", "eval"])
leaves = st.one_of(
    st.integers(-5, 5).map(str),
    st.sampled_from(["'a'", "True", "None", "axis()", "b'x'", "...", "1j"]),
    names,
)


def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(parts, names).map(lambda p: f"({p[0]}).{p[1]}"),
        st.tuples(names, parts).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(parts, parts).map(lambda p: f"({p[0]})[{p[1]}]"),
        st.tuples(parts, st.sampled_from("+-*/<%|"), parts).map(
            lambda p: f"({p[0]}){p[1]}({p[2]})"
        ),
        st.tuples(names, parts).map(lambda p: f"[{p[0]} for {p[0]} in {p[1]}]"),
        st.lists(parts, max_size=3).map(lambda p: f"[{', '.join(p)}]"),
    )


@given(st.recursive(leaves, combined, max_leaves=12))
def test_no_expression_reaches_beyond_the_given_calls(text: str) -> None:
    """Whatever evaluates has no attribute and no name but a given function's, as what is called."""
    try:
        value = evaluate(text, FUNCTIONS)
    except ExpressionError:
        return
    assert isinstance(value, bool | float | str | list)
    if "if" in text or "and" in text or "or" in text:
        return  # a branch that is not taken is not looked at
    for node in ast.walk(ast.parse(text, mode="eval")):
        assert not isinstance(node, ast.Attribute | ast.Lambda | ast.comprehension)
        if isinstance(node, ast.Name):
            assert node.id in FUNCTIONS


@given(st.text(max_size=40))
def test_no_text_raises_anything_but_an_expression_error(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        evaluate(text, FUNCTIONS)
