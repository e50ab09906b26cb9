"""Are the copied entries of the kernel's events those of its JSON files?

    python tests/kernel_events.py FOLDER

FOLDER has `tools/perf/pmu-events/arch/x86` of a kernel: that of Debian's package linux-source-6.12,
unpacked. `crates/host/host/tests/all/kernel_events.toml` has the entries that the tables of
`skipline-host` are compared with by a test in Rust.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ENTRIES = Path(__file__).parent.parent / "crates/host/host/tests/all/kernel_events.toml"
X86 = "tools/perf/pmu-events/arch/x86"
# Words of an entry, with the kernel's names for them.
_WORDS = {"event": "EventCode", "port": "PortMask", "fc": "FCMask", "rw": "RdWrMask"}
_FILTERS = {"filter_opc": "opc", "filter_tid": "tid", "filter_opc0": "opc"}


def _number(text: object) -> int:
    return int(str(text).split(",")[0], 0)


def words(event: dict[str, Any]) -> dict[str, int]:
    """Return code, umask with its extension, and filters of an event of the kernel."""
    found = {ours: _number(event[theirs]) for ours, theirs in _WORDS.items() if theirs in event}
    if "UMask" in event:
        found["umask"] = _number(event["UMask"])
    if extension := _number(event.get("UMaskExt", 0)):
        found["umask"] = found.get("umask", 0) | extension << 8
    if "port" in found:
        # Granite Rapids' umasks have port and class of flow in their extension, too.
        extension, found["umask"] = divmod(found["umask"], 1 << 8)
        if extension not in {0, found["port"] << 4 | found["fc"] << 16}:
            found["extension"] = extension
    for part in str(event.get("Filter", "")).split(","):
        name, _, value = part.partition("=")
        if name == "config1":
            found["config1"] = int(value, 0)
        elif name in _FILTERS:
            found[_FILTERS[name]] = int(value, 0)
    return {name: value for name, value in found.items() if value or name == "event"}


def differences(folder: Path) -> list[str]:
    """Compare each entry with the event of its name; return what differs."""
    told = []
    files: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in tomllib.loads(ENTRIES.read_text())["event"]:
        name, file = entry["name"], entry["file"]
        if file not in files:
            events = json.loads((folder / X86 / file).read_text())
            files[file] = {str(one.get("EventName")): one for one in events}
        event = files[file].get(name)
        ours = {key: value for key, value in entry.items() if isinstance(value, int)}
        if event is None:
            told.append(f"{file}: the kernel has no {name}")
        elif words(event) != ours:
            told.append(f"{file}: {name}: copied {ours}, the kernel has {words(event)}")
    return told


def main() -> None:
    """Print what differs; exit with 1 if anything does."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / X86).is_dir():
        print(__doc__, file=sys.stderr)
        raise SystemExit(2)
    told = differences(Path(sys.argv[1]))
    print("\n".join(told) if told else "all entries are those of the kernel")
    raise SystemExit(1 if told else 0)


if __name__ == "__main__":
    main()
