"""The HTML file around figures and tables: style, numbered captions, embedded Vega, escaping."""

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

from skipline.report import palette
from skipline.report.chart_style import CONFIG
from skipline.text import foreign

# A chart's title and its Vega-Lite specification.
Panel = tuple[str, dict[str, Any]]


class Figure(NamedTuple):
    """A figure of one panel; the caption says what its axes and marks show."""

    panel: Panel
    caption: str


class Markup(str):
    """A text that is already HTML."""


class Attributes(str):
    """Attributes of a row of a table, as HTML."""


@dataclass
class Document:
    """Collects the parts of a page in reading order, then renders it.

    `kind` says what the page is about, `scripts` are further files of this package that it needs.
    """

    title: str
    kind: str
    scripts: Sequence[str] = ()
    _parts: list[str] = field(default_factory=list)
    _specs: list[dict[str, Any]] = field(default_factory=list)
    _figures: int = 0
    _tables: int = 0

    def add(self, markup: str) -> None:
        """Append ready markup; its texts must be escaped."""
        self._parts.append(markup)

    def head(self, question: str, answer: str, facts: str = "") -> None:
        """Start the page: its title, what was asked, the answer in one sentence, the facts."""
        self.add(f"<h1>{escape(self.title)}</h1>")
        if question:
            self.add(f'<p class="question">{escape(question)}</p>')
        self.add(f'<p class="answer">{escape(answer)}</p>')
        if facts:
            self.add(f'<p class="facts">{escape(facts)}</p>')

    def heading(self, text: str, lead: str = "", *, level: int = 2, anchor: str = "") -> None:
        """Start a section; links find it by its anchor."""
        name = f' id="{escape(anchor)}"' if anchor else ""
        self.add(f"<h{level}{name}>{escape(text)}</h{level}>")
        if lead:
            self.add(f'<p class="lead">{escape(lead)}</p>')

    def figure(
        self, panels: Sequence[Panel], caption: str, legend: str = "", columns: int = 4
    ) -> None:
        """Append a figure of one or more panels, fewer a row on small screens."""
        self.add(self._figure(panels, caption, legend, columns))

    def figures(self, drawn: Iterable[Figure]) -> None:
        """Append figures of one panel each side by side."""
        markup = "".join(self._figure([panel], caption) for panel, caption in drawn)
        if not markup:
            return
        self.add(f'<div class="panels panels-3">{markup}</div>')

    def _figure(
        self, panels: Sequence[Panel], caption: str, legend: str = "", columns: int = 4
    ) -> str:
        self._figures += 1
        name = f"figure-{self._figures}"
        kind = f"panels panels-{min(len(panels), columns)}"
        drawn = "".join(self._panel(title, spec, name) for title, spec in panels)
        return (
            f'<figure id="{name}">{legend}<div class="{kind}">{drawn}</div>'
            f'<figcaption id="{name}-caption"><b>Figure {self._figures}.</b> {escape(caption)}'
            "</figcaption></figure>"
        )

    def _panel(self, title: str, spec: dict[str, Any], figure: str) -> str:
        number = len(self._specs)
        self._specs.append(foreign.in_tree(spec))
        return (
            f'<div class="panel"><p class="panel-title" aria-hidden="true">{escape(title)}</p>'
            f'<div data-chart="{number}" role="img" aria-label="{escape(title)}" '
            f'aria-describedby="{figure}-caption"></div></div>'
        )

    def table(
        self,
        header: Sequence[str],
        rows: Iterable[Sequence[object]],
        caption: str,
        numeric: Sequence[int] = (),
        *,
        stacked: bool = False,
    ) -> Markup:
        """Return the next numbered table; columns whose index is in `numeric` are right-aligned.

        A row may begin with its `Attributes`. A `stacked` table, of texts, shows the cells of a row
        below each other where the screen is narrow, each with the name of its column.
        """
        self._tables += 1
        classes = [' class="number"' if index in numeric else "" for index in range(len(header))]
        titles = zip(classes, header, strict=True)
        head = "".join(f'<th scope="col"{c}>{escape(text)}</th>' for c, text in titles)
        body = "\n".join(_row(row, classes) for row in rows)
        return Markup(
            f'<div class="scroll"><table id="table-{self._tables}"{_stack(header, stacked)}>'
            f"<caption><span><b>Table {self._tables}.</b> {escape(caption)}</span></caption>"
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
        )

    def render(self) -> str:
        """Return the whole page."""
        parts = "\n".join(self._parts)
        scripts = "".join(f"<script>{_asset(name)}</script>\n" for name in self.scripts)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n'
            f"<title>{escape(self.title)} · Skipline</title>\n"
            '<link rel="icon" href="data:,">\n'
            f"<style>{palette.style_sheet()}{_asset('page.css')}</style>\n"
            f"<script>{_asset('theme.js')}</script>\n</head>\n<body>\n"
            f'<header class="bar"><span><b>Skipline</b> {escape(self.kind)}</span>'
            '<button type="button" id="dark" aria-pressed="false" hidden>Dark mode</button>'
            f"</header>\n<main>\n{parts}\n</main>\n{self._drawing()}{scripts}</body>\n</html>\n"
        )

    def _drawing(self) -> str:
        """Return what draws the figures: their data and Vega, packed, and the script for both."""
        charts = json.dumps({"config": CONFIG, "specs": self._specs}, separators=(",", ":"))
        return (
            "<noscript><p>Figures need JavaScript; the tables have their numbers.</p></noscript>\n"
            f'<script type="text/plain" id="charts">{_packed(charts)}</script>\n'
            f'<script type="text/plain" id="vega">{_drawing_program()}</script>\n'
            f"<script>{_asset('page.js')}</script>\n"
        )


def escape(text: object) -> str:
    """Escape a text for HTML."""
    return foreign.in_html(text)


def _stack(header: Sequence[str], stacked: bool) -> str:
    """Return the attributes by which the style sheet names the cells of a stacked table."""
    if not stacked:
        return ""
    names = (f"--column-{at}:{json.dumps(name)}" for at, name in enumerate(header, start=1))
    return f' class="stacked" style="{escape(";".join(names))}"'


def _row(row: Sequence[object], classes: Sequence[str]) -> str:
    attributes, cells = "", row
    if row and isinstance(row[0], Attributes):
        attributes, cells = f" {row[0]}", row[1:]
    pairs = zip(classes, cells, strict=True)
    return f"<tr{attributes}>{''.join(f'<td{c}>{_cell(cell)}</td>' for c, cell in pairs)}</tr>"


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


def details(summary: str, content: str, *, on_paper: bool = True) -> str:
    """Return content that opens on a click, and on paper unless it is too long for that."""
    kind = "" if on_paper else ' class="folded"'
    return f"<details{kind}><summary>{escape(summary)}</summary>{content}</details>"


def _asset(name: str) -> str:
    return (files("skipline.report") / name).read_text(encoding="utf-8")


def _drawing_program() -> str:
    """Return Vega, Vega-Lite and what embeds them, packed (packaging/bundle_vega.py)."""
    return base64.b64encode((files("skipline.report") / "vega.js.gz").read_bytes()).decode()


def _packed(text: str) -> str:
    """Compress a text for the page, whose script unpacks it: a third of the size."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
