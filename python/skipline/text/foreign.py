"""Text that others chose, made fit to be shown: titles, names, values, paths.

Control characters move a terminal's cursor, hide text and rename windows; marks of direction turn
letters around in a page. Each of them becomes a replacement character, and a byte of a name that is
no text its number. What joins or divides
letters as people write them stays: in Persian, Hindi and Mongolian, in emoji of families and flags.
Every printer of this program calls one of these functions; `in_json` loses nothing.
"""

import html
import re
from collections.abc import Mapping
from typing import Any

# Controls of C0 but tab and newline, of C1, surrogates, line and paragraph separators, spaces that
# have no width, marks of direction, tags, and what stands for no character. Of what has no width
# the soft hyphen (AD), the separator of Mongolian vowels (180E), the non-joiner and the joiner
# (200C, 200D) are parts of words.
_UNPRINTABLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
# The flag of a part of a country: a black flag, the code of the part in tags, and their end.
# Source: Unicode Technical Standard 51, emoji tag sequences.
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,7}\U000e007f"
_OF_LINES = re.compile(f"({_FLAG})|[{_UNPRINTABLE}]")


def printable(text: str) -> str:
    """Return a text of lines without what does more than show letters."""
    # Most texts have nothing of the kind, which Python knows faster than an expression finds it.
    return text if text.isprintable() else _OF_LINES.sub(_replaced, text)


def _replaced(found: "re.Match[str]") -> str:
    if "\ud800" <= found[0] <= "\udfff":
        # A byte of a file's name that is no text: who looks for the file needs to know which.
        return f"\\u{ord(found[0]):04x}"
    return found[1] or "\N{REPLACEMENT CHARACTER}"


def in_cell(text: str) -> str:
    """Return a text for one line or one cell: a tab or the end of a line becomes a space."""
    return " ".join(re.split("[\t\n]", printable(text)))


def in_html(text: object) -> str:
    """Return a text as a page has it, without markup."""
    return html.escape(printable(str(text)))


def in_tree(value: object) -> Any:
    """Return mappings, lists and texts, as drawings are made of, with all texts printable."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {in_tree(key): in_tree(one) for key, one in value.items()}
        case list() | tuple():
            return [in_tree(one) for one in value]
    return value


def in_json(text: str) -> str:
    """Return JSON in which characters that are not printable are escapes; its values stay."""
    if text.isprintable():
        return text
    return _OF_LINES.sub(lambda found: found[1] or _escaped(found[0]), text)


def _escaped(letter: str) -> str:
    """Return a character as JSON escapes it: one beyond 16 bits is a pair."""
    units = letter.encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair):04x}" for pair in pairs)
