"""What an advice would change on the machine itself: `skipline-host tune` without `--apply`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from skipline._core import InputError, RunError
from skipline.advice import commands
from skipline.advice.advice import Advice
from skipline.host import binary

_TUNE = "skipline-host tune "


class DryRun(NamedTuple):
    """A command and what it would change; the reason if it was refused."""

    command: str
    text: str


def of_advice(advice: Advice, root: Path | None) -> list[DryRun]:
    """Ask the machine, or the tree that stands in for it, what each change would do."""
    changes = [(part.key, part.value) for part in advice.parts]
    named = commands.for_changes(changes, advice.target.tenants)
    return list(asked((line for _, lines in named for line in lines), root))


def asked(lines: Iterable[str], root: Path | None) -> Iterator[DryRun]:
    """Yield the dry run of each line that is one of `skipline-host tune` without open names."""
    tree = [] if root is None else ["--root", str(root)]
    for line in lines:
        words = line.partition("#")[0].split()
        # Capitals stand for names that only the user knows.
        if not line.startswith(_TUNE) or any(word.isupper() for word in words):
            continue
        try:
            told = binary.output([*tree, *words[1:]])
        except (InputError, RunError) as error:
            told = f"refused: {error}"
        yield DryRun(" ".join(words), told.rstrip())
