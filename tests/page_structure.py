"""The structure of an HTML page, read without a browser."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Element:
    """An element: its tag, attributes, the text in it, and the tags of what it is in."""

    tag: str
    attributes: dict[str, str]
    inside: list[str]
    text: str = ""

    @property
    def classes(self) -> list[str]:
        """Its classes."""
        return self.attributes.get("class", "").split()


_EMPTY = {"meta", "link", "input", "br", "img"}


@dataclass
class Structure(HTMLParser):
    """All elements of a page in reading order."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inside = [element.tag for element in self._open]
        element = Element(tag, {name: value or "" for name, value in attrs}, inside)
        self.elements.append(element)
        if tag not in _EMPTY:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _EMPTY:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        closed = self._open.pop()
        assert closed.tag == tag, f"<{closed.tag}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def of_tag(self, *tags: str) -> list[Element]:
        """Return the elements of these tags in reading order."""
        return [element for element in self.elements if element.tag in tags]

    def position(self, name: str) -> int:
        """Return where the first element with this tag or class comes."""
        at = (n for n, e in enumerate(self.elements) if e.tag == name or name in e.classes)
        return next(at)


def structure(page: str) -> Structure:
    """Read a page; one whose elements do not nest is refused."""
    read = Structure()
    read.feed(page)
    read.close()
    assert not read._open
    return read
