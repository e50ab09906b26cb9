"""`skipline calibrate`: lets measured data choose among hypotheses, and says how sure they are."""

import os
from pathlib import Path, PurePosixPath

import click

from skipline import atomic, resources
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.commands.options import Format
from skipline.text import foreign, terminal


@click.command(
    cls=Command,
    extra="advise",
    examples=[
        "skipline calibrate experiments/calibration/gold-6140.toml",
        "skipline calibrate mine.toml --jobs 8 --out reports/mine",
    ],
)
@click.argument(
    "file",
    metavar="FILE",
    help="Calibration, on disk or built in.",
    shell_complete=suggestions.calibrations,
)
@options.jobs
@options.output
@options.out("Results; default: reports/calibrate-ID.", "DIR")
def calibrate(file: str, jobs: int | None, output: Format, out: Path | None) -> None:
    """Let measured points choose among named hypotheses and parameters; cross-validate."""
    text = resources.read_keys(file)
    from skipline.calibrate import bench, numbers, view
    from skipline.calibrate.definition import Calibration
    from skipline.calibrate.result import RESULT_FILE
    from skipline.experiment import preparation
    from skipline.text import toml_model

    calibration = toml_model.load(Calibration, text, file)
    identifier = PurePosixPath(file).stem
    directory = Path("reports") / f"calibrate-{identifier}" if out is None else out
    targets = numbers.targets(calibration)
    bench.check(calibration, targets, file)
    atomic.prepare_directory(directory)
    if former := preparation.former_points([directory / bench.CANDIDATES_FILE]):
        terminal.note(former)
    try:
        with terminal.progress_bar("calibrate", lines=True) as bar:
            jobs = jobs or os.cpu_count() or 1
            candidates = bench.Bench(calibration, targets, directory, jobs, bar)
            result = bench.calibrate(identifier, calibration, candidates)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished runs are kept in {directory / bench.CANDIDATES_FILE}; "
            "the next call goes on from there"
        ) from None
    atomic.write(directory / RESULT_FILE, foreign.in_json(result.model_dump_json(indent=1)) + "\n")
    if output is Format.JSON:
        terminal.emit_json(result.model_dump_json(indent=1))
    else:
        terminal.show(view.overview(result, directory / RESULT_FILE))
