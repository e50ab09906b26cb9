"""Known devices beside platforms: cards (`nic`) and SSDs (`ssd`), each a file of `devices/`."""

from collections.abc import Iterator
from typing import NamedTuple

from skipline import _core, resources
from skipline.text import toml_model

_FOLDER, _ENDING = "devices/", ".toml"
# Keys of scenarios that name a device, with what the devices are.
KINDS = {"nic": "card", "ssd": "SSD"}


class Device(NamedTuple):
    """A known device: the key that takes its name, the name, and what it is."""

    key: str
    name: str
    title: str


def known(key: str) -> Iterator[Device]:
    """Yield the built-in devices that a key of scenarios (`nic`, `ssd`) takes, by their names."""
    folder = f"{_FOLDER}{key}/"
    for path in sorted(_core.builtin_files()):
        if path.startswith(folder) and path.endswith(_ENDING):
            title = toml_model.top_level(resources.read_keys(path), path).get("title", "")
            yield Device(key, path.removeprefix(folder).removesuffix(_ENDING), str(title))
