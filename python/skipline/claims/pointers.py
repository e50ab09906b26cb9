"""Claims that tests show, or that nothing can judge yet: experiments/tests.toml."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from skipline import resources
from skipline._core import InputError
from skipline.text import toml_model

FILE = "tests.toml"
# Folders that only the repository has; the source distribution has crates, and some of tests/.
_OF_THE_REPOSITORY = ("crates", "tests/conftest.py")
# How a test, not any other function of its name, is declared in files of a kind.
_DECLARATIONS = {
    ".py": r"^\s*(?:async )?def (?=test){name}\(",
    ".rs": r"^\s*#\[test\]\s*(?:(?://.*|#\[[^\]]*\])\s*)*(?:pub )?fn {name}\(",
}


class Pointer(BaseModel):
    """The tests that show a claim, as FILE::FUNCTION, or the reason why it is not judged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    test: list[str] = Field(default=[])
    # What of the claim these tests do not show.
    missing: str | None = None
    # What measurements chose the values that the tests compare.
    fitted_on: str | None = None
    note: str | None = None
    judged: Literal["not judged"] | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.judged is None and not self.test:
            raise ValueError(f"claim '{self.id}': give test, or judged = \"not judged\"")
        if (self.judged is None) != (self.reason is None):
            raise ValueError(f"claim '{self.id}': judged and reason belong together")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: list[Pointer] = Field(default=[])


def read(folder: str) -> list[Pointer]:
    """Return the pointers of a folder of experiments; without a file there are none."""
    path = f"{folder}/{FILE}"
    if path not in resources.names_below(folder, ".toml"):
        return []
    pointers = toml_model.load(_File, resources.read_keys(path), path).claim
    ids = [pointer.id for pointer in pointers]
    for index, identifier in enumerate(ids):
        if identifier in ids[:index]:
            raise InputError(f"{path}: claim '{identifier}' is stated twice")
    here = tests_are_here(folder)
    for pointer in pointers:
        for test in pointer.test:
            _check_test(path, Path(folder).parent if here else None, pointer.id, test)
    return pointers


def tests_are_here(folder: str) -> bool:
    """Return whether a folder of experiments is in its repository, beside the tests it names.

    What is installed has none, nor have the source distribution and a copy of the folder alone.
    """
    root = Path(folder).parent
    path_beside = all((root / name).exists() for name in _OF_THE_REPOSITORY)
    return path_beside and Path(folder, FILE).is_file()


def _check_test(path: str, root: Path | None, claim: str, test: str) -> None:
    """Refuse a test that its repository at `root` does not have."""
    file, separator, function = test.partition("::")
    where = f"{path}: claim '{claim}': test '{test}'"
    if not separator or not function:
        raise InputError(f"{where}: write FILE::FUNCTION")
    if root is None:
        return
    if not (root / file).is_file():
        raise InputError(f"{where}: no such file")
    declaration = _DECLARATIONS.get(Path(file).suffix)
    if declaration is None:
        raise InputError(f"{where}: tests are in files ending in {' or '.join(_DECLARATIONS)}")
    text = resources.read_text(str(root / file))
    if not re.search(declaration.format(name=re.escape(function)), text, re.MULTILINE):
        raise InputError(f"{where}: no such test in the file")
