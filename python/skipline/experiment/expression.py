"""Evaluates the expressions of claims: arithmetic over numbers, texts and lists, and named calls.

A whitelist over Python's syntax tree: no attributes, no names but those of the given functions,
no statements. Arithmetic and comparisons take lists element by element.
"""

import ast
import inspect
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from skipline.text.nearest import did_you_mean

ExpressionValue = float | bool | str | list[Any]
Functions = Mapping[str, Callable[..., ExpressionValue]]

_LONGEST = 4000
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class ExpressionError(Exception):
    """An expression that cannot be evaluated; the message says what is wrong in it."""


def evaluate(text: str, functions: Functions) -> ExpressionValue:
    """Evaluate an expression; a call may raise ExpressionError for its arguments."""
    if len(text) > _LONGEST:
        raise ExpressionError(f"longer than {_LONGEST} characters")
    try:
        tree = ast.parse(f"({text})", mode="eval")
        return _Evaluator(functions).value(tree.body)
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"not an expression: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise ExpressionError("too deeply nested") from error
    except ZeroDivisionError as error:
        raise ExpressionError("division by zero") from error
    except OverflowError as error:
        raise ExpressionError("a number is too large") from error


def calls(text: str) -> list[ast.Call]:
    """Return the calls in an expression, to look at before there are results."""
    try:
        tree = ast.parse(f"({text})", mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"not an expression: {error}") from error
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


class _Evaluator:
    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._kinds: dict[type[ast.expr], Callable[[Any], ExpressionValue]] = {
            ast.Constant: self._constant,
            ast.List: self._list,
            ast.Tuple: self._list,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._arithmetic,
            ast.Compare: self._comparison,
            ast.BoolOp: self._joined,
            ast.IfExp: self._choice,
            ast.Subscript: self._part,
            ast.Call: self._call,
            ast.Name: self._name,
        }

    def value(self, node: ast.expr) -> ExpressionValue:
        if type(node) not in self._kinds:
            raise _not_allowed(node)
        return self._kinds[type(node)](node)

    def _constant(self, node: ast.Constant) -> ExpressionValue:
        if isinstance(node.value, bool | str):
            return node.value
        if isinstance(node.value, int | float):
            return float(node.value)
        raise _not_allowed(node)

    def _list(self, node: ast.List | ast.Tuple) -> ExpressionValue:
        return [self.value(element) for element in node.elts]

    def _arithmetic(self, node: ast.BinOp) -> ExpressionValue:
        if type(node.op) not in _ARITHMETIC:
            raise _not_allowed(node)
        operation = _numbers(_ARITHMETIC[type(node.op)])
        return _each(operation, self.value(node.left), self.value(node.right))

    def _joined(self, node: ast.BoolOp) -> bool:
        wanted = isinstance(node.op, ast.Or)
        return wanted if any(self._truth(v) == wanted for v in node.values) else not wanted

    def _choice(self, node: ast.IfExp) -> ExpressionValue:
        return self.value(node.body if self._truth(node.test) else node.orelse)

    def _name(self, node: ast.Name) -> ExpressionValue:
        raise ExpressionError(f"'{node.id}': not a value; calls are {', '.join(self._functions)}")

    def _truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if isinstance(value, bool):
            return value
        raise ExpressionError(
            f"'{ast.unparse(node)}' is neither true nor false"
            + ("; of a list ask all() or any()" if isinstance(value, list) else "")
        )

    def _unary(self, node: ast.UnaryOp) -> ExpressionValue:
        match node.op:
            case ast.Not():
                return not self._truth(node.operand)
            case ast.USub():
                return _each(_numbers(operator.mul), -1.0, self.value(node.operand))
            case ast.UAdd():
                return self.value(node.operand)
        raise _not_allowed(node)

    def _comparison(self, node: ast.Compare) -> ExpressionValue:
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        whole: ExpressionValue = True
        for op, left, right in zip(node.ops, sides, sides[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise _not_allowed(node)
            whole = _each(_both, whole, _each(_comparable(_COMPARISONS[type(op)]), left, right))
        return whole

    def _part(self, node: ast.Subscript) -> ExpressionValue:
        value, subscript = self.value(node.value), node.slice
        if not isinstance(value, list):
            raise ExpressionError(f"'[{ast.unparse(subscript)}]' needs a list")
        if isinstance(subscript, ast.Slice):
            ends = (subscript.lower, subscript.upper, subscript.step)
            start, stop, step = (None if end is None else self._index(end) for end in ends)
            return value[slice(start, stop, step)]
        index = self._index(subscript)
        if not -len(value) <= index < len(value):
            raise ExpressionError(f"'[{index}]': the list has {len(value)} values")
        found: ExpressionValue = value[index]
        return found

    def _index(self, node: ast.expr) -> int:
        value = self.value(node)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise ExpressionError(f"'[{ast.unparse(node)}]' is not a whole number")

    def _call(self, node: ast.Call) -> ExpressionValue:
        if not isinstance(node.func, ast.Name):
            raise ExpressionError(f"'{ast.unparse(node.func)}' cannot be called")
        name = node.func.id
        if name not in self._functions:
            hint = did_you_mean(name, self._functions)
            raise ExpressionError(
                f"'{name}()': unknown{hint}; calls are {', '.join(self._functions)}"
            )
        positional = [self.value(argument) for argument in node.args]
        named = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise ExpressionError("'**' is not allowed in a call")
            named[keyword.arg] = self.value(keyword.value)
        function = self._functions[name]
        try:
            inspect.signature(function).bind(*positional, **named)
        except TypeError as error:
            raise ExpressionError(f"{name}(): {error}") from error
        return function(*positional, **named)


def _not_allowed(node: ast.expr) -> ExpressionError:
    return ExpressionError(f"'{ast.unparse(node)}' is not allowed here")


def _each(
    operation: Callable[[Any, Any], ExpressionValue], left: ExpressionValue, right: ExpressionValue
) -> ExpressionValue:
    """Apply an operation to two values, or to the elements of lists."""
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            raise ExpressionError(f"lists of {len(left)} and {len(right)} values side by side")
        return [_each(operation, one, other) for one, other in zip(left, right, strict=True)]
    if isinstance(left, list):
        return [_each(operation, one, right) for one in left]
    if isinstance(right, list):
        return [_each(operation, left, other) for other in right]
    return operation(left, right)


def number(value: object) -> float:
    """Return a value that must be a number."""
    if isinstance(value, float) or (isinstance(value, int) and not isinstance(value, bool)):
        return float(value)
    raise ExpressionError(f"{value!r} is not a number")


def _numbers(operation: Callable[[float, float], float]) -> Callable[[Any, Any], float]:
    return lambda left, right: operation(number(left), number(right))


def _comparable(operation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(left: Any, right: Any) -> bool:
        if isinstance(left, str) != isinstance(right, str):
            raise ExpressionError(f"{left!r} and {right!r} cannot be compared")
        return bool(operation(left, right))

    return compare


def _both(left: bool, right: bool) -> bool:
    return left and right
