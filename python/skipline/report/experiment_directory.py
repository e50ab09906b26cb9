"""The directory of an experiment that has run: its tables, its summary and its page."""

from pathlib import Path

from skipline import atomic
from skipline.experiment import outcome
from skipline.experiment.files import REPORT_FILE
from skipline.experiment.outcome import Outcome
from skipline.experiment.preparation import Prepared
from skipline.experiment.runner import Ran
from skipline.report.experiment_page import page


def conclude(prepared: Prepared, ran: Ran, seed: int | None) -> Outcome:
    """Judge what ran, and write tables, summary and page."""
    concluded = outcome.conclude(prepared.entry, ran.finished, seed)
    write(concluded, prepared.directory)
    return concluded


def write(concluded: Outcome, directory: Path) -> None:
    """Write everything about an experiment below `directory`."""
    outcome.write(concluded, directory)
    atomic.write(directory / REPORT_FILE, page(concluded))
