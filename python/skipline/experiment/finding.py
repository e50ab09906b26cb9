"""Finds experiments by the words that people have for them: `figure 10 of ATC'20`."""

import re
from collections.abc import Iterable

from skipline.experiment.catalogue import Entry

# Conferences as sources write them, and their year: people write ATC'20 or atc20.
_CONFERENCE = re.compile(r"\b(ATC|ASPLOS|EuroSys|ISPASS|NSDI|S&P|SIGCOMM|OSDI|HPCA)\W+20(\d\d)\b")
_WHERE = re.compile(r"\b(?:figures?|tables?|sections?)\b.*", re.IGNORECASE)
_NUMBERED = re.compile(r"\b(fig(?:ure)?|table|section)s?\.? ?(\d+[a-z]?)", re.IGNORECASE)
_FIGURES = re.compile(r"\bfigures? ((?:\d+[a-z]?(?:, | and | to )?)+)", re.IGNORECASE)
# What people also call a publication: by its first author, by its subject.
_ALSO = {
    "ATC'20": "farshin dca ddio",
    "ASPLOS'24": "kuper dsa",
    "EuroSys'19": "farshin cachedirector",
    "ISPASS'20": "alian gem5",
}
_WORD = re.compile(r"[\w&]+")
_IDLE = {
    "a",
    "an",
    "and",
    "at",
    "by",
    "for",
    "from",
    "how",
    "in",
    "is",
    "it",
    "of",
    "on",
    "s",
    "the",
}
_IDLE |= {
    "article",
    "experiment",
    "experiments",
    "measurement",
    "paper",
    "published",
    "show",
    "what",
}


def short_source(entry: Entry) -> str:
    """Return conference, year and figure of the publication, or its text where it has none."""
    source = entry.experiment.source
    where = _WHERE.search(source)
    names = [f"{name}'{year}" for name, year in _CONFERENCE.findall(source)]
    first = names[0] if names else source.partition(",")[0]
    return f"{first}, {where[0]}" if where else first


def matching(entries: Iterable[Entry], words: str) -> list[Entry]:
    """Return the experiments that have all words, and are about the figure if one is named."""
    numbered = _NUMBERED.search(words)
    others = words.replace(numbered[0], " ", 1) if numbered else words
    wanted = [word for word in _words(others) if word not in _IDLE]
    return [
        entry
        for entry in entries
        if _has_words(entry, wanted) and (numbered is None or _is_of(entry, *numbered.groups()))
    ]


def _has_words(entry: Entry, wanted: list[str]) -> bool:
    experiment = entry.experiment
    text = " ".join(
        [entry.identifier, entry.path, experiment.title, experiment.question, experiment.source]
    )
    source = short_source(entry)
    known = {*_words(text), *_words(source), *_words(_ALSO.get(source.partition(",")[0], ""))}
    return all(any(one.startswith(word) for one in known) for word in wanted)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("'", "").replace("\u2019", ""))


def _is_of(entry: Entry, kind: str, number: str) -> bool:
    """Return whether a figure, table or section is among those that the source names."""
    source = entry.experiment.source.lower()
    if not kind.lower().startswith("fig"):
        return re.search(rf"\b{kind.lower()}s? [^;]*\b{number}\b", source) is not None
    named = " ".join(_FIGURES.findall(source))
    return re.search(rf"\b{number.lower()}\b", named) is not None
