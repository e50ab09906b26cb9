"""The HTML file around figures and tables: style, embedded Vega, escaping."""

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from altair import SCHEMA_VERSION

_CHART_ATTRIBUTE = "data-chart"


@dataclass
class Document:
    """Collects the parts of a page in reading order, then renders it."""

    title: str
    _parts: list[str] = field(default_factory=list)
    _specs: list[dict[str, Any]] = field(default_factory=list)

    def add(self, markup: str) -> None:
        """Append ready markup; its texts must be escaped."""
        self._parts.append(markup)

    def heading(self, text: str, lead: str = "", *, level: int = 2, anchor: str = "") -> None:
        """Start a section; links find it by its anchor."""
        name = f' id="{escape(anchor)}"' if anchor else ""
        self.add(f"<h{level}{name}>{escape(text)}</h{level}>")
        if lead:
            self.add(f'<p class="lead">{escape(lead)}</p>')

    def panels(
        self, specs: Sequence[tuple[str, dict[str, Any]]], legend: str = "", columns: int = 4
    ) -> None:
        """Append charts (title, Vega-Lite specification), fewer a row on small screens."""
        figures = []
        for title, spec in specs:
            number = len(self._specs)
            self._specs.append(spec)
            figures.append(
                f"<figure><figcaption>{escape(title)}</figcaption>"
                f'<div {_CHART_ATTRIBUTE}="{number}" role="img" aria-label="{escape(title)}"></div>'
                "</figure>"
            )
        kind = f"panels panels-{min(len(specs), columns)}"
        self.add(f'{legend}<div class="{kind}">{"".join(figures)}</div>')

    def render(self) -> str:
        """Return the whole page."""
        parts = "\n".join(self._parts)
        specs = json.dumps(self._specs, separators=(",", ":")).replace("<", "\\u003c")
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.title)} · Skipline</title>\n"
            '<link rel="icon" href="data:,">\n'
            f"<style>{_asset('page.css')}</style>\n</head>\n<body>\n<main>\n{parts}\n</main>\n"
            f'<script type="application/json" id="charts">{specs}</script>\n'
            f"<script>{_vega()}</script>\n<script>{_asset('page.js')}</script>\n</body>\n</html>\n"
        )


def escape(text: object) -> str:
    """Escape a text for HTML."""
    return html.escape(str(text))


def table(header: Sequence[str], rows: Iterable[Sequence[object]], numeric: Sequence[int]) -> str:
    """Return a table; columns whose index is in `numeric` are set right-aligned."""
    classes = ['class="number"' if index in numeric else "" for index in range(len(header))]
    head = "".join(f"<th {c}>{escape(name)}</th>" for c, name in zip(classes, header, strict=True))
    body = "\n".join(
        "<tr>"
        + "".join(f"<td {c}>{_cell(cell)}</td>" for c, cell in zip(classes, row, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


class Markup(str):
    """A text that is already HTML."""


def _cell(cell: object) -> str:
    return cell if isinstance(cell, Markup) else escape(cell)


def card(label: str, value: str, detail: str, mood: str = "") -> str:
    """Return a headline number; `mood` is good, bad or empty."""
    return (
        f'<div class="card {mood}"><div class="label">{escape(label)}</div>'
        f'<div class="value">{escape(value)}</div><div class="detail">{escape(detail)}</div></div>'
    )


def cards(entries: Iterable[str]) -> str:
    """Return headline numbers side by side."""
    return f'<div class="cards">{"".join(entries)}</div>'


def details(summary: str, content: str) -> str:
    """Return content that opens on a click."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def _asset(name: str) -> str:
    return (files("skipline.report") / name).read_text(encoding="utf-8")


@cache
def _vega() -> str:
    version = ".".join(SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    return vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=version
    ).replace("</script", "<\\/script")
