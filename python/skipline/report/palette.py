"""Colours of pages and figures, for light and for dark screens.

Figures name colours as CSS variables, so that a page changes its mode without drawing them anew.
"""

from typing import NamedTuple


class Colour(NamedTuple):
    """One colour in both modes."""

    light: str
    dark: str


# Colours of text; each can be read on GROUNDS (WCAG AA: contrast of 4.5 or more).
TEXTS = {
    "ink": Colour("#1b1f24", "#e6eaef"),
    "soft": Colour("#57606a", "#a6b0bb"),
    "link": Colour("#0a5ea8", "#7cbcff"),
    "good": Colour("#006b4f", "#46c79d"),
    "bad": Colour("#a82800", "#ff9470"),
}
GROUNDS = {
    "paper": Colour("#ffffff", "#14181d"),
    "ground": Colour("#f3f5f8", "#1d232a"),
}
# Colours of figures and controls, after Okabe and Ito where colours distinguish categories;
# each can be seen on GROUNDS (contrast of 3 or more).
MARKS = {
    "edge": Colour("#7a838d", "#7d8894"),
    "measured": Colour("#1b1f24", "#e6eaef"),
    "predicted": Colour("#0072b2", "#56b4e9"),
    "fails": Colour("#b02a00", "#ff8a65"),
    "category-1": Colour("#0072b2", "#56b4e9"),
    "category-2": Colour("#c75500", "#f5894a"),
    "category-3": Colour("#00805d", "#3ecfa4"),
    "category-4": Colour("#b0548a", "#e39cc5"),
    "category-5": Colour("#946a00", "#e6b03c"),
    "category-6": Colour("#6a5acd", "#b3a6ff"),
    "category-7": Colour("#56751c", "#a9d05f"),
}
# Separates what is also apart without it.
_QUIET = {
    "line": Colour("#d8dee4", "#343d47"),
    "grid": Colour("#e6eaee", "#2b333c"),
}
_ALL = TEXTS | GROUNDS | MARKS | _QUIET


def variable(name: str) -> str:
    """Return a colour as CSS and figures name it."""
    if name not in _ALL:
        raise KeyError(name)
    return f"var(--{name})"


def in_light(text: str) -> str:
    """Replace the variables of a text by the colours of light pages."""
    for name, colour in _ALL.items():
        text = text.replace(variable(name), colour.light)
    return text


def style_sheet() -> str:
    """Return the variables: light, on paper too; dark as the system or the page's switch says."""
    light = _declarations("light", {name: colour.light for name, colour in _ALL.items()})
    dark = _declarations("dark", {name: colour.dark for name, colour in _ALL.items()})
    return (
        f":root{{{light}}}\n"
        "@media screen and (prefers-color-scheme:dark)"
        f"{{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )


def _declarations(scheme: str, colours: dict[str, str]) -> str:
    variables = "".join(f"--{name}:{value};" for name, value in colours.items())
    return f"color-scheme:{scheme};{variables}"
