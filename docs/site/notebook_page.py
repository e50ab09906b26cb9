"""Pages of notebooks: their cells are run, and what they show is put below them.

Notebooks are kept without outputs; what a reader sees is what this revision computes. They need no
kernel for that: cells of plain Python are run here, one after the other, in names of their own.
"""

import ast
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Cell:
    """A cell, what running it printed, a last value that is text included, and markup of HTML."""

    kind: str
    source: str
    printed: str = ""
    shown: str = ""


def run(notebook: Path) -> tuple[list[Cell], dict[str, Any]]:
    """Run all cells in order; return them with what they showed, and the names that they made."""
    names: dict[str, Any] = {"__name__": "__main__"}
    document = json.loads(notebook.read_text(encoding="utf-8"))
    ran = [Cell(cell["cell_type"], "".join(cell["source"])) for cell in document["cells"]]
    for number, cell in enumerate(ran):
        if cell.kind != "code":
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            value = _value(cell.source, f"{notebook.name}, cell {number}", names)
        cell.shown = _markup(value)
        text = "" if value is None or cell.shown else f"{value!r}\n"
        cell.printed = f"{printed.getvalue()}{text}"
    return ran, names


def _value(source: str, place: str, names: dict[str, Any]) -> object:
    """Run a cell; return the value of its last line if that is an expression."""
    tree = ast.parse(source, place)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), place, "eval"), names)


def _markup(value: object) -> str:
    """Return the markup of a value that has some."""
    if hasattr(value, "_repr_html_"):
        return str(value._repr_html_())
    if hasattr(value, "_repr_mimebundle_"):
        bundle = value._repr_mimebundle_()
        pictures = bundle[0] if isinstance(bundle, tuple) else bundle
        if "image/svg+xml" in pictures:
            return str(pictures["image/svg+xml"])
    return ""


def page(notebook: Path) -> str:
    """Run a notebook; return it as a page, with a link to the notebook itself."""
    ran, _ = run(notebook)
    return "\n\n".join(_parts(ran, notebook.name)) + "\n"


def _parts(ran: list[Cell], name: str) -> Iterator[str]:
    for number, cell in enumerate(ran):
        if cell.kind == "markdown":
            yield cell.source
            if number == 0:
                yield f"This page is a notebook, [{name}]({name}); it was run for this site."
            continue
        yield f"```python\n{cell.source}\n```"
        if cell.printed:
            yield f"```text\n{cell.printed.rstrip()}\n```"
        if cell.shown:
            yield f'<div class="shown">\n{cell.shown}\n</div>'
