"""Results that tables are written from: one JSON file for each measurement, kept in git."""

import json
import re
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDER = REPOSITORY / "docs/evidence/kept"
# Digits that are kept: enough for each table, few enough that a file shows what changed.
_DIGITS = 6
_NUMBERS = re.compile(r"\[[\s\d.,e+-]+\]")

Kept = dict[str, Any]


def read(name: str) -> Kept:
    """Return the results of a measurement."""
    kept: Kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return kept


def write(name: str, results: Kept) -> None:
    """Keep the results of a measurement."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(rounded(results), indent=1, ensure_ascii=False)
    # Lists of numbers stay on one line, so that a difference is read line by line.
    text = _NUMBERS.sub(lambda numbers: " ".join(numbers[0].split()), text)
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def rounded(value: Any) -> Any:
    """Return results as they are kept."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return value
