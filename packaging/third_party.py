"""Write THIRD-PARTY.txt: the licences of what others wrote and the wheel has in it.

    python packaging/third_party.py [FILE]

Of a choice of licences Apache-2.0 is taken, which is Skipline's own; the others have their texts.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from parts import REPOSITORY, Part, crates

TARGET = REPOSITORY / "THIRD-PARTY.txt"
_APACHE = "Apache-2.0"
_CHOICE = re.compile(r"\s+OR\s+|/")
_TEXTS = ("LICEN[CS]E*", "COPYING*", "UNLICENSE*", "NOTICE*")
_LINE = "-" * 80
_MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def text() -> str:
    """Return the whole file."""
    parts = crates()
    apache = [part for part in parts if _is_apache(part)]
    others = [part for part in parts if not _is_apache(part)]
    script = REPOSITORY / "python/skipline/report/vega.licences.txt"
    sections = [
        "Skipline contains what others wrote. Written by: python packaging/third_party.py",
        f"Crates in the compiled module, under {_APACHE}, whose text is in LICENSE:\n\n"
        + "\n".join(map(_title, apache)),
        *_notices(apache),
        *_with_texts(others),
        "In the script of pages (python/skipline/report/vega.js.gz):",
        script.read_text(encoding="utf-8").strip().removesuffix(_LINE).strip(),
    ]
    return f"\n\n{_LINE}\n\n".join(sections) + "\n"


def _is_apache(part: Part) -> bool:
    return _APACHE in _CHOICE.split(part.licence)


def _title(part: Part) -> str:
    return f"{part.name} {part.version} ({part.licence})"


def _notices(parts: list[Part]) -> Iterator[str]:
    for part in parts:
        for file in sorted((part.folder or REPOSITORY).glob("NOTICE*")):
            yield f"{_title(part)}, {file.name}:\n\n{file.read_text(encoding='utf-8').strip()}"


def _with_texts(parts: list[Part]) -> Iterator[str]:
    """Yield parts with their texts, those of the same text together."""
    by_text: dict[str, list[str]] = {}
    for part in parts:
        files = [file for kind in _TEXTS for file in sorted((part.folder or REPOSITORY).glob(kind))]
        files = [file for file in files if file.is_file()]
        whole = "\n\n".join(file.read_text(encoding="utf-8").strip() for file in files)
        if not whole:
            if part.licence != "MIT":
                raise SystemExit(f"{_title(part)}: no text of its licence in {part.folder}")
            # Its author has left the text out, which the licence itself wants to be there.
            whole = f"Copyright (c) the authors of {part.name}\n\n{_MIT}"
        by_text.setdefault(whole, []).append(_title(part))
    for whole, titles in by_text.items():
        yield "\n".join(titles) + f"\n\n{whole}"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text(text(), encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")
