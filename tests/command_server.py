"""Starts command after command in processes of their own, without loading Python for each anew.

    python command_server.py

Each line of stdin is a request (JSON: arguments, directory, environment, files for both streams).
The server forks, the child runs `skipline` in it, and the server answers with the exit code.
"""

import gc
import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

# Commands import these when they need them; loaded here, that costs nothing.
import altair  # noqa: F401
import polars  # noqa: F401
import rich.progress  # noqa: F401

import skipline.cli
from skipline.__main__ import main
from skipline.report import experiment_directory  # noqa: F401
from skipline.runs import result_view  # noqa: F401

for _name in skipline.cli.COMMANDS:
    importlib.import_module(skipline.cli.module_of(_name))

_ABORTED = 1


def _open_streams(out: str, err: str) -> None:
    """Open stdin, stdout and stderr as a shell would: nothing to read, two files to write."""
    for descriptor, path, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, out, os.O_WRONLY),
        (2, err, os.O_WRONLY),
    ):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )


def _run(request: dict[str, Any]) -> NoReturn:
    """Run the command in this process and leave with its exit code."""
    code = _ABORTED
    try:
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        _open_streams(request["out"], request["err"])
        sys.argv = ["skipline", *request["arguments"]]
        main()
    except SystemExit as stop:
        code = 0 if stop.code is None else int(stop.code)
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


def serve() -> None:
    """Answer requests until stdin ends."""
    # Garbage collection in a child would write to every object here, and so copy its pages.
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    # Python looks for modules beside this file first. A command must not find those of tests.
    sys.path.remove(str(Path(__file__).parent))
    serve()
