"""The result file of a calibration: chosen answers, the data that chose them, rejected answers."""

from pydantic import BaseModel, ConfigDict

from skipline.calibrate.definition import Setting
from skipline.calibrate.validation import Answer, Fold

RESULT_FILE = "calibration.json"


class NumberError(BaseModel):
    """One measured number and the error of the best candidate against it."""

    model_config = ConfigDict(frozen=True)

    number: str
    basis: str
    measured: float
    error: float
    unit: str


class Ranked(BaseModel):
    """A candidate with its error at the fit points."""

    model_config = ConfigDict(frozen=True)

    candidate: str
    settings: dict[str, Setting]
    fit_error: float


class CalibrationResult(BaseModel):
    """The result of a calibration. Errors are weighted means of absolute errors."""

    model_config = ConfigDict(frozen=True)

    identifier: str
    title: str
    platform: str
    version: str
    experiments: list[str]
    fit_numbers: int
    held_out_numbers: int
    start_error: float
    fit_error: float
    held_out_error: float
    choices: dict[str, str]
    parameters: dict[str, float]
    settings: dict[str, Setting]
    answers: list[Answer]
    folds: list[Fold]
    ranking: list[Ranked]
    numbers: list[NumberError]
