"""Write the script that draws the figures of pages, packed, and the licences of its parts.

    python packaging/bundle_vega.py

It is Vega, Vega-Lite and what embeds them. Bundling takes a library of 84 MB and always gives the
same script, so that the package has the script itself; a test compares both. npm has the licences.
"""

import gzip
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import vl_convert
from altair import SCHEMA_VERSION

REPORT = Path(__file__).parents[1] / "python" / "skipline" / "report"
SCRIPT, LICENCES = REPORT / "vega.js.gz", REPORT / "vega.licences.txt"
_SNIPPET = "window.vegaEmbed = vegaEmbed;"
# Parts of the script; the others of npm are those of commands, which a page has not.
_IN_SCRIPT = re.compile(
    r"vega|d3-|topojson|delaunator|robust-|internmap|fast-json|json-stringify|semver|tslib"
)


def script() -> str:
    """Return the script for the version of Vega-Lite for which Altair writes specifications."""
    bundle = vl_convert.javascript_bundle(_SNIPPET, vl_version=_vega_lite())
    # Its names stay its own.
    return f"(()=>{{{bundle}\n}})();"


def _vega_lite() -> str:
    return ".".join(SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def licences() -> str:
    """Return the licences of the parts, as npm has them."""
    wanted = (
        f"vega@{vl_convert.get_vega_version()}",
        f"vega-lite@~{_vega_lite()}.0",
        f"vega-embed@{vl_convert.get_vega_embed_version()}",
    )
    options = ("--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "install", "--prefix", folder, *options, *wanted], check=True)
        return "\n".join(_sections(Path(folder) / "node_modules"))


def _sections(modules: Path) -> Iterator[str]:
    """Yield name, version, licence and text of each part, parts of the same text together."""
    by_text: dict[str, list[str]] = {}
    for folder in sorted(modules.iterdir()):
        if not _IN_SCRIPT.match(folder.name):
            continue
        package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        title = f"{package['name']} {package['version']} ({package['license']})"
        texts = sorted(folder.glob("LICEN[CS]E*"))
        text = texts[0].read_text(encoding="utf-8").strip() if texts else "No text is beside it."
        by_text.setdefault(text, []).append(title)
    for text, titles in by_text.items():
        yield "\n".join(titles) + f"\n\n{text}\n\n{'-' * 80}"


if __name__ == "__main__":
    SCRIPT.write_bytes(gzip.compress(script().encode(), 9, mtime=0))
    LICENCES.write_text(licences() + "\n", encoding="utf-8")
    for file in (SCRIPT, LICENCES):
        print(f"{file}: {file.stat().st_size:,} bytes")
