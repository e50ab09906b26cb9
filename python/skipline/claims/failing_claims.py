"""Reads docs/evidence/failing-claims.md, which has a section for each failing claim."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

FILE = "docs/evidence/failing-claims.md"
# The fields of a section, in this order.
FIELDS = ("Claim", "Asked", "Got", "Suspected cause", "Tried")
_SECTION = re.compile(r"^## (?P<claim>[\w-]+): (?P<title>.+)\n(?P<body>(?:(?!#).*\n?)*)", re.M)
_FIELD = re.compile(r"^- \*\*(?P<name>[^*]+)\*\*: (?P<text>.+(?:\n(?!- |\n).*)*)", re.M)


@dataclass(frozen=True)
class Section:
    """The section of one claim; each field on one line."""

    title: str
    fields: Mapping[str, str]


def read(folder: str) -> dict[str, Section]:
    """Return the sections of the file beside a folder of experiments; none if there is no file."""
    path = Path(folder).parent / FILE
    return sections(path.read_text(encoding="utf-8")) if path.is_file() else {}


def sections(text: str) -> dict[str, Section]:
    """Return the sections by claim."""
    return {
        found["claim"]: Section(
            title=found["title"].strip(),
            fields={
                field["name"]: " ".join(field["text"].split())
                for field in _FIELD.finditer(found["body"])
            },
        )
        for found in _SECTION.finditer(text)
    }


def without_section(explained: Mapping[str, Section], failing: Iterable[str]) -> list[str]:
    """Return the failing claims that no section explains."""
    return [claim for claim in failing if claim not in explained]
