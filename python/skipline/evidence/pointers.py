"""Claims that tests show, or that nothing can judge yet: experiments/tests.toml."""

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from skipline import resources, toml_model
from skipline._core import InputError

FILE = "tests.toml"


class Pointer(BaseModel):
    """The tests that show a claim, as FILE::FUNCTION, or the reason why it is not judged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    test: list[str] = Field(default=[])
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
    pointers = toml_model.load(_File, resources.read_text(path), path).claim
    ids = [pointer.id for pointer in pointers]
    for index, identifier in enumerate(ids):
        if identifier in ids[:index]:
            raise InputError(f"{path}: claim '{identifier}' is there twice")
    root = Path(folder).parent
    for pointer in pointers:
        for test in pointer.test:
            _check_test(path, root, pointer.id, test)
    return pointers


def _check_test(path: str, root: Path, claim: str, test: str) -> None:
    """Refuse a test that is not there; an installed package has no tests to look at."""
    file, separator, function = test.partition("::")
    where = f"{path}: claim '{claim}': test '{test}'"
    if not separator or not function:
        raise InputError(f"{where}: write FILE::FUNCTION")
    if not (root / Path(file).parts[0]).is_dir():
        return
    if not (root / file).is_file():
        raise InputError(f"{where}: no such file")
    text = (root / file).read_text(encoding="utf-8")
    if not re.search(rf"\b(?:fn|def) {re.escape(function)}\b", text):
        raise InputError(f"{where}: no such test in the file")
