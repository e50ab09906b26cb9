"""The program that draws a page's figures: Vega, Vega-Lite and what embeds them, in one script.

Bundling it takes a second or two and always gives the same, so the user's cache keeps it.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from altair import SCHEMA_VERSION
from platformdirs import user_cache_path

from skipline import atomic
from skipline._core import InputError, RunError

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def vega() -> str:
    """Return the script; a copy that cannot be read or is not whole is made again."""
    vega_lite = ".".join(SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    kept = _place(vega_lite)
    script = _read(kept)
    if script is None:
        import vl_convert

        bundle = vl_convert.javascript_bundle(_SNIPPET, vl_version=vega_lite)
        # Its names stay its own.
        script = f"(()=>{{{bundle}\n}})();"
        _keep(kept, script)
    return script


def _place(vega_lite: str) -> Path:
    made_by = version("vl-convert-python")
    return user_cache_path("skipline") / f"vega-lite-{vega_lite}-by-{made_by}.js"


def _read(kept: Path) -> str | None:
    try:
        digest, _, script = kept.read_bytes().partition(b"\n")
    except OSError:
        return None
    return script.decode() if digest == _digest(script) else None


def _digest(script: bytes) -> bytes:
    return hashlib.sha256(script).hexdigest().encode()


def _keep(kept: Path, script: str) -> None:
    """Keep the script for the next page; without a place for it each page bundles it anew."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        content = script.encode()
        atomic.write(kept, _digest(content) + b"\n" + content)
    except (OSError, InputError, RunError):
        return
