"""The tables of a calibration: errors of each answer, and where a kind of point is left out."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from kept_results import REPOSITORY, Kept, read
from page_blocks import table

CALIBRATION = "experiments/calibration/gold-6140.toml"
COMMAND = f"skipline calibrate {CALIBRATION}"
_ANSWER = ("choice", "is_chosen", "fit_error", "held_out_error")
_FOLD = ("left_out", "numbers", "chosen", "error_on_others", "error_left_out")


def measure() -> Kept:
    """Run the calibration."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "skipline", "calibrate", CALIBRATION, "--out", folder]
        subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL, check=True)
        (written,) = Path(folder).rglob("calibration.json")
        found: dict[str, Any] = json.loads(written.read_text(encoding="utf-8"))
    return kept(found)


def kept(found: dict[str, Any]) -> Kept:
    """Return what is kept of the result of a calibration."""
    return {
        "command": COMMAND,
        "fit_numbers": found["fit_numbers"],
        "held_out_numbers": found["held_out_numbers"],
        "answers": [{key: answer[key] for key in _ANSWER} for answer in found["answers"]],
        "folds": [{key: fold[key] for key in _FOLD} for fold in found["folds"]],
    }


def answers() -> str:
    """Return the table of answers."""
    return table(
        ["machine", "one and many cores, fitted, pp", "two cores, not fitted, pp"],
        [
            [one["choice"], f"{one['fit_error']:.2f}", f"{one['held_out_error']:.2f}"]
            for one in read("facts")["answers"]
        ],
    )


def folds() -> str:
    """Return the table of kinds of points that were left out."""
    return table(
        ["left out", "numbers", "chosen by the others", "error on others, pp", "left out, pp"],
        [
            [
                one["left_out"],
                str(one["numbers"]),
                one["chosen"],
                f"{one['error_on_others']:.2f}",
                f"{one['error_left_out']:.2f}",
            ]
            for one in read("facts")["folds"]
        ],
    )
