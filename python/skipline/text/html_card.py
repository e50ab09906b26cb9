"""A small table in HTML, as notebooks show it: a title, rows, what else is to be said."""

from collections.abc import Iterable, Sequence

from skipline.text import foreign

# Notebooks colour rows and set texts to the right by their own style.
_TEXT, _NUMBER = ' style="text-align: left"', ' style="text-align: right"'


def card(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    notes: Iterable[str],
    numeric: Sequence[int],
) -> str:
    """Return the markup of texts, which may have any letters; `numeric` are columns of numbers."""
    styles = [_NUMBER if column in numeric else _TEXT for column in range(len(header))]
    head = "".join(_cells("th", header, styles))
    body = "".join(f"<tr>{''.join(_cells('td', row, styles))}</tr>" for row in rows)
    below = "".join(f"<div><small>{foreign.in_html(note)}</small></div>" for note in notes)
    return (
        f"<div><strong>{foreign.in_html(title)}</strong><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}</div>"
    )


def _cells(tag: str, texts: Sequence[str], styles: Sequence[str]) -> Iterable[str]:
    for text, style in zip(texts, styles, strict=True):
        yield f"<{tag}{style}>{foreign.in_html(text)}</{tag}>"
