"""What DEVIATIONS.md says about claims: each failing one has a paragraph that names it."""

import re
from collections.abc import Iterable
from pathlib import Path

FILE = "DEVIATIONS.md"


def read(folder: str) -> str:
    """Return the text of the file beside a folder of experiments; nothing if there is none."""
    path = Path(folder).parent / FILE
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def paragraphs(text: str, claim: str) -> list[str]:
    """Return what names a claim, paragraphs and list items: each on one line, without emphasis."""
    blocks = re.split(r"\n\s*\n|\n(?=[-*] )", text)
    name = re.compile(rf"(?<![\w-]){re.escape(claim)}(?![\w-])")
    found = [block for block in blocks if name.search(block)]
    return [" ".join(block.removeprefix("- ").replace("**", "").split()) for block in found]


def without_paragraph(text: str, failing: Iterable[str]) -> list[str]:
    """Return the failing claims that no paragraph names."""
    return [claim for claim in failing if not paragraphs(text, claim)]
