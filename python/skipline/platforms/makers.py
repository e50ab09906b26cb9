"""Whether a platform describes a server of one maker by facts of another's.

`skipline-host calibrate` measures caches and memory of any server; what it cannot measure there it
takes from one of the known platforms, all of which are Intel's or made up.
"""

import json
import re

from skipline import _core, resources
from skipline._core import InputError
from skipline.platforms import platform_facts
from skipline.text import toml_model

# Words by which titles call servers of other makers; `calibrate` writes the processor's own name.
_MAKERS = {"AMD": r"AMD|EPYC|Ryzen", "ARM": r"ARM|Neoverse|Graviton|Ampere|Altra|Kunpeng"}
_MACHINES, _PARTS, _ENDING = "platforms/", "platforms/parts/", ".toml"


def note(platform: str) -> str | None:
    """Return the sentence on a base of another maker; None if there is none, or no such file."""
    try:
        maker = _maker(platform)
        facts = platform_facts.facts(platform) if maker else []
    except InputError:
        return None
    inherited = [fact.origin for fact in facts if (fact.origin or "").startswith(_MACHINES)]
    bases = [origin for origin in inherited if origin and not origin.startswith(_PARTS)]
    if maker is None or not bases:
        return None
    base = max(dict.fromkeys(bases), key=bases.count)
    name = base.removeprefix(_MACHINES).removesuffix(_ENDING)
    return (
        f"The platform is of {maker}, but {len(inherited)} of its {len(facts)} facts are those of "
        f"{name}, another maker's server: a stand-in that no measurement has judged "
        "(docs/how-to/other-servers.md)"
    )


def _maker(platform: str) -> str | None:
    """Return the maker that a platform's title names, or that of a file on disk it extends."""
    known = json.loads(_core.platform(platform, None))
    titles = [str(known.get("title", "")), *_titles_on_disk(platform)]
    return next(
        (
            maker
            for title in titles
            for maker, words in _MAKERS.items()
            if re.search(rf"\b({words})\b", title)
        ),
        None,
    )


def _titles_on_disk(platform: str) -> list[str]:
    """Return the titles of files that a platform inherits from, built-in ones apart."""
    origins = dict.fromkeys(fact.origin for fact in platform_facts.facts(platform))
    built_in = set(_core.builtin_files())
    paths = [path for path in origins if path is not None and path not in built_in]
    tables = (toml_model.top_level(resources.read_keys(path), path) for path in paths)
    return [str(table.get("title", "")) for table in tables]
