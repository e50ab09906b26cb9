"""`skipline calibrate`: lets measured data choose among hypotheses, and says how sure they are."""

import os
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from skipline import atomic, resources, terminal
from skipline.commands.options import Format, Jobs, Output


def calibrate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Calibration, on disk or built in.")],
    jobs: Jobs = None,
    output: Output = Format.TABLE,
    out: Annotated[
        Path | None, typer.Option(help="Results; default: reports/calibrate-ID.")
    ] = None,
) -> None:
    """Let measured points choose among named hypotheses and parameters; cross-validate."""
    from skipline import toml_model
    from skipline.calibrate import bench, numbers, view
    from skipline.calibrate.definition import Calibration
    from skipline.calibrate.result import RESULT_FILE

    calibration = toml_model.load(Calibration, resources.read_text(file), file)
    identifier = PurePosixPath(file).stem
    directory = Path("reports") / f"calibrate-{identifier}" if out is None else out
    targets = numbers.targets(calibration)
    bench.check(calibration, targets, file)
    atomic.prepare_directory(directory)
    try:
        with terminal.progress_bar("calibrate") as bar:
            jobs = jobs or os.cpu_count() or 1
            candidates = bench.Bench(calibration, targets, directory, jobs, bar)
            result = bench.calibrate(identifier, calibration, candidates)
    except KeyboardInterrupt:
        raise terminal.Interrupted(
            f"finished runs are kept in {directory / bench.CANDIDATES_FOLDER}; "
            "the next call goes on from there"
        ) from None
    atomic.write(directory / RESULT_FILE, result.model_dump_json(indent=1) + "\n")
    if output is Format.JSON:
        terminal.emit(result.model_dump_json(indent=1))
    else:
        terminal.show(view.overview(result, directory / RESULT_FILE))
