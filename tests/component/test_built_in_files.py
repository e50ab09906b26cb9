"""Whatever is compiled in is watched: a change of it is not left out of the next build."""

import re
import subprocess
from pathlib import Path

import pytest

from built_in import CRATES, built_in_files, built_in_folders
from command_line import REPOSITORY


@pytest.mark.parametrize("crate", CRATES, ids=lambda crate: crate.name)
def test_cargo_watches_every_folder_that_is_compiled_in(crate: Path) -> None:
    script = (crate / "build.rs").read_text()
    watched = re.findall(r"rerun-if-changed=\.\./\.\./\.\./([\w/-]+)", script)
    assert sorted(watched) == sorted(built_in_folders(crate))


def test_make_watches_every_file_that_is_compiled_in() -> None:
    rule = "core-sources: ; @printf '%s\\n' $(CORE_SOURCES)"
    done = subprocess.run(
        ["make", "--silent", "--no-print-directory", f"--eval={rule}", "core-sources"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    watched = set(done.stdout.splitlines())
    assert [str(file) for file in built_in_files() if str(file) not in watched] == []
