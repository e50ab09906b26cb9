"""What is compiled into the module from outside its crates."""

import re
from pathlib import Path

from command_line import REPOSITORY

SCENARIO = REPOSITORY / "crates" / "scenario"


def built_in_folders() -> list[str]:
    """Folders of the repository that `include_dir!` names."""
    source = (SCENARIO / "src" / "builtin.rs").read_text()
    included = re.findall(r'include_dir!\("(.*)"\)', source)
    prefix = "$CARGO_MANIFEST_DIR/../../"
    assert included
    assert all(path.startswith(prefix) for path in included)
    return [path.removeprefix(prefix) for path in included]


def built_in_files() -> list[Path]:
    """Their files, relative to the repository."""
    files = (path for folder in built_in_folders() for path in (REPOSITORY / folder).rglob("*"))
    return [path.relative_to(REPOSITORY) for path in files if path.is_file()]
