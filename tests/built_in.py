"""What is compiled into the module from outside its crates."""

import re
from pathlib import Path

from command_line import REPOSITORY

CRATES = (REPOSITORY / "crates" / "base" / "facts", REPOSITORY / "crates" / "sim" / "scenario")


def built_in_folders(crate: Path) -> list[str]:
    """Folders of the repository that a crate names with `include_dir!`."""
    sources = (file.read_text() for file in sorted(crate.rglob("src/**/*.rs")))
    included = [path for text in sources for path in re.findall(r'include_dir!\("(.*)"\)', text)]
    prefix = "$CARGO_MANIFEST_DIR/../../../"
    assert included
    assert all(path.startswith(prefix) for path in included)
    return [path.removeprefix(prefix) for path in included]


def built_in_files() -> list[Path]:
    """Their files, relative to the repository."""
    folders = (folder for crate in CRATES for folder in built_in_folders(crate))
    files = (path for folder in folders for path in (REPOSITORY / folder).rglob("*"))
    return [path.relative_to(REPOSITORY) for path in files if path.is_file()]
