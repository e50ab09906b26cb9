"""The built page: a folder of static files, which `make web` writes and the wheel contains."""

from pathlib import Path
from urllib.parse import urlencode

from skipline._core import InputError
from skipline.text import foreign

FOLDER = Path(__file__).parent / "page"
_INDEX = "index.html"
_TOKEN_PLACE = "<!--TOKEN-->"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".wasm": "application/wasm",
}
# The version of links that the page reads; web/src/model/link.ts has the same.
LINK_VERSION = 1


def require() -> None:
    """Refuse to begin if the page is not built."""
    if not (FOLDER / _INDEX).is_file():
        raise InputError(
            f"{FOLDER}: the page is not built; in the repository run make web (it needs Node.js "
            "20.19 or newer), or install the wheel, which contains it"
        )


def with_token(token: str) -> bytes:
    """Return the page by which the native engine is reached."""
    text = (FOLDER / _INDEX).read_text(encoding="utf-8")
    meta = f'<meta name="skipline-token" content="{foreign.in_html(token)}">'
    return text.replace(_TOKEN_PLACE, meta, 1).encode()


def asset(name: str) -> tuple[bytes, str] | None:
    """Return a file of the page and its type; None if it has none of that name."""
    known = {path.name: path for path in FOLDER.iterdir() if path.suffix in _KINDS}
    path = known.get(name)
    if path is None or name == _INDEX:
        return None
    return path.read_bytes(), _KINDS[path.suffix]


def link(scenario: str, settings: list[tuple[str, str]], seed: int | None) -> str:
    """Return the part of an address that opens a scenario with settings."""
    parts = [("v", str(LINK_VERSION)), ("file", scenario)]
    parts += [("s", f"{key}={value}") for key, value in settings]
    if seed is not None:
        parts.append(("seed", str(seed)))
    return urlencode(parts)
