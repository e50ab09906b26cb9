"""Audit the wheels of a release: they keep the stable interface, and run where they say.

    python packaging/audit.py DIST

abi3audit looks for symbols beyond the interface that the wheel's name promises, auditwheel for
symbols of a C library newer than the oldest system that the name allows.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

_GLIBC = re.compile(r"manylinux_2_(\d+)")


def faults(wheel: Path) -> list[str]:
    """Return what is wrong with a wheel, in sentences."""
    return [*_abi3(wheel), *_manylinux(wheel)]


def _abi3(wheel: Path) -> list[str]:
    command = [sys.executable, "-m", "abi3audit", "--strict", "--report", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        (spec,) = json.loads(done.stdout)["specs"].values()
        audited = [one["result"] for one in spec["wheel"]]
    except (ValueError, KeyError):
        return [f"{wheel.name}: abi3audit could not read it: {done.stderr.strip()[-300:]}"]
    if not audited:
        return [f"{wheel.name}: no module with the stable interface in it"]
    wrong = [
        one for one in audited if not one["is_abi3"] or one["is_abi3_baseline_compatible"] is False
    ]
    return [f"{wheel.name}: beyond the stable interface: {one}" for one in wrong]


def _manylinux(wheel: Path) -> list[str]:
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    text = " ".join(done.stdout.split())
    promised = _GLIBC.search(wheel.name)
    consistent = re.search(r'following platform tag: "([^"]+)"', text)
    if done.returncode != 0 or promised is None or consistent is None:
        return [f"{wheel.name}: auditwheel: {text or done.stderr.strip()[-300:]}"]
    found = _GLIBC.search(consistent[1])
    if found is None or int(found[1]) > int(promised[1]):
        return [f"{wheel.name}: it needs {consistent[1]}, newer than its name says"]
    return []


def main() -> None:
    """Audit all wheels of a folder; the exit code is 1 if anything is wrong."""
    wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
    if not wheels:
        sys.exit(f"error: {sys.argv[1]}: no wheel here")
    found = [fault for wheel in wheels for fault in faults(wheel)]
    for wheel in wheels:
        if not any(fault.startswith(wheel.name) for fault in found):
            print(f"{wheel.name}: stable interface and C library as its name says")
    if found:
        sys.exit("\n".join(["error:", *found]))


if __name__ == "__main__":
    main()
