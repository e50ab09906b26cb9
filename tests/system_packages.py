"""Installs the packages of this system that tests need, all that is missing in one round of apt.

    python3 tests/system_packages.py GROUP ...

Prints a note for each group that stays incomplete: its tests are skipped, and say so. The exit code
is 1 if a group is incomplete without which tests fail. It runs before anything else is installed,
so it needs nothing but Python.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

# A machine that is set up for tests does not have to survive a power failure in between.
APT_INSTALL = (
    "apt-get", "-y", "-qq", "-o", "Dpkg::Options::=--force-unsafe-io",
    "install", "--no-install-recommends",
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Packages, how to see that they are there, and which tests need them."""

    packages: str
    purpose: str
    programs: str
    """Programs of these packages."""
    checks: Sequence[str] = field(default=())
    """Commands of a shell that succeed if the packages are there."""
    required: bool = False
    """Whether tests fail without the packages, rather than say that they were skipped."""

    def complete(self) -> bool:
        """Tell whether everything is there."""
        return all(map(shutil.which, self.programs.split())) and all(map(_succeeds, self.checks))


GROUPS = {
    "browser": Group(
        packages="chromium chromium-driver fonts-dejavu-core",
        purpose="the page tests",
        programs="chromium chromedriver",
    ),
    "firefox": Group(
        packages="firefox-esr",
        purpose="tests of the explorer's page in a second browser",
        programs="firefox-esr",
    ),
    # Programs that the tests run on a DSA in software, those that judge digests, and libraries that
    # are preloaded beside ours.
    "dsa": Group(
        packages="dpdk-dev accel-config memcached libmemcached-tools sqlite3 qemu-utils valgrind "
        "python3-numpy libjemalloc2 libfaketime libisal2 tshark pciutils kmod",
        purpose="programs on a DSA in software",
        programs="dpdk-test accel-config memcached memccapable sqlite3 qemu-img valgrind tshark "
        "lspci setpci lsmod",
        checks=(
            "/usr/bin/python3 -c 'import numpy'",
            "ldconfig -p | grep -q 'libisal\\.so\\.2'",
        ),
        required=True,
    ),
    "dpdk": Group(
        packages="dpdk-dev libdpdk-dev libcmocka-dev libpcap-dev pkg-config meson ninja-build",
        purpose="the mempool driver for DPDK",
        programs="meson ninja dpdk-testpmd",
        checks=("pkg-config --exists libdpdk cmocka",),
    ),
    # A soak fails without the two groups that follow.
    "redis": Group(
        packages="redis-tools redis-server",
        purpose="tests of slice-kvs serve",
        programs="redis-benchmark redis-server",
    ),
    "packaging": Group(
        packages="man-db rpm systemd prometheus",
        purpose="tests of packages, manual pages and alerts",
        programs="man rpmbuild systemd-analyze prometheus promtool",
    ),
    "cachegrind": Group(
        packages="valgrind libc6-dbg",
        purpose="the comparison with cachegrind",
        programs="valgrind",
    ),
}


def _succeeds(command: str) -> bool:
    return subprocess.run(["sh", "-c", command], capture_output=True, check=False).returncode == 0


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _install(packages: Sequence[str]) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    command = [*APT_INSTALL, *packages]
    quiet = subprocess.DEVNULL
    return subprocess.run(command, env=environment, stdout=quiet, check=False).returncode == 0


def _packages(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(name for group in groups for name in group.packages.split()))


def complete(groups: Sequence[Group]) -> list[Group]:
    """Install what the groups lack, if that is allowed; return those that still lack something."""
    missing = [group for group in groups if not group.complete()]
    if not missing or not _may_install():
        return missing
    print(f"installing {' '.join(_packages(missing))}", flush=True)
    subprocess.run(["apt-get", "update", "-qq"], check=False)
    # A package that this system does not have keeps apt from installing any other.
    if not _install(_packages(missing)):
        for group in missing:
            _install(_packages([group]))
    return [group for group in missing if not group.complete()]


def main(names: Sequence[str]) -> int:
    """Complete the groups of these names and tell what stays missing."""
    incomplete = complete([GROUPS[name] for name in names])
    why = "cannot be installed" if _may_install() else "have to be installed"
    for group in incomplete:
        kind = "error" if group.required else "note"
        print(f"{kind}: for {group.purpose} the packages {group.packages} {why}", flush=True)
    return int(any(group.required for group in incomplete))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
