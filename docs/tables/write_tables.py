"""Write the tables of results into the pages, from results that are kept in docs/evidence/kept.

Without names it writes all tables, and the pages that are made of code alone. With `--measure` the
results are made anew first, by the command that they name.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kept_results import REPOSITORY, Kept, write

sys.path.insert(0, str(REPOSITORY / "docs/site"))

import accuracy
import calibrations
import dsa_figures
import key_reference
import model_errors
import page_blocks
import performance

_FIDELITY = "docs/evidence/fidelity.md"
_ERRORS = "docs/evidence/model-error.md"
_FIGURES = "docs/evidence/dsa-bench-figures.md"
# Programs of benches/, each with a table of its own in one page.
_BENCHES = ("start", "scaling", "peers")


@dataclass(frozen=True)
class Table:
    """A table of a page. `results` are the files that it is written from."""

    page: str
    text: Callable[[], str]
    results: tuple[str, ...]


# All that is measured, by the name of its file in docs/evidence/kept.
MEASUREMENTS: dict[str, Callable[[], Kept]] = {
    "fidelity": accuracy.measure,
    "claims": accuracy.measure_claims,
    "facts": calibrations.measure,
    "model-errors": model_errors.measure,
    "dsa-figures": dsa_figures.measure,
    "dsa-thresholds": dsa_figures.measure_thresholds,
    "durations": partial(performance.measure, "durations"),
    **{name: partial(performance.measure, name) for name in _BENCHES},
}
# All tables, by the name in the comment before them.
TABLES: dict[str, Table] = {
    "accuracy": Table("README.md", accuracy.accuracy, ("fidelity", "claims")),
    "claims": Table("docs/evidence/failing-claims.md", accuracy.claims, ("claims",)),
    "fidelity": Table(_FIDELITY, accuracy.where_it_stands, ("fidelity",)),
    "facts": Table(_FIDELITY, calibrations.answers, ("facts",)),
    "facts-left-out": Table(_FIDELITY, calibrations.folds, ("facts",)),
    "latencies": Table(_ERRORS, model_errors.latencies, ("model-errors",)),
    "model-errors": Table(_ERRORS, model_errors.by_kind, ("model-errors",)),
    "dsa-figures": Table(_FIGURES, dsa_figures.figures, ("dsa-figures",)),
    "dsa-thresholds": Table(_FIGURES, dsa_figures.thresholds, ("dsa-thresholds",)),
    "durations": Table("docs/README.md", partial(performance.written, "durations"), ("durations",)),
    **{
        name: Table("docs/evidence/performance.md", partial(performance.written, name), (name,))
        for name in _BENCHES
    },
}


def _dsa_commands() -> str:
    command = ["cargo", "run", "--locked", "--quiet", "-p", "dsa-cli", "--example", "dsa_reference"]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


# Whole pages, by their file.
PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/platform-keys.md": key_reference.platform_keys,
    "docs/reference/skipline-dsa.md": _dsa_commands,
}


def generate(name: str) -> None:
    """Write a table into its page."""
    table = TABLES[name]
    path = REPOSITORY / table.page
    page = path.read_text(encoding="utf-8")
    path.write_text(page_blocks.replace(page, name, table.text()), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Write the named tables, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="make the results anew first")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TABLES))
    options = parser.parse_args(arguments)
    names = options.names or list(TABLES)
    if unknown := [name for name in names if name not in TABLES]:
        parser.error(f"{unknown[0]} is not a table; tables: {', '.join(TABLES)}")
    if options.measure:
        for results in dict.fromkeys(file for name in names for file in TABLES[name].results):
            write(results, MEASUREMENTS[results]())
    for name in names:
        generate(name)
        print(f"{TABLES[name].page}: {name}")
    for page, text in PAGES.items() if not options.names else ():
        (REPOSITORY / page).write_text(text(), encoding="utf-8")
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
