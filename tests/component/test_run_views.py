"""What loads beside a simulation is what shows its result."""

import importlib
import subprocess
import sys

from command_line import L2FWD, REPOSITORY
from skipline.runs import run_command

SHOWN = f"""
import sys
from skipline.runs import run_command
shown = run_command._print
def spy(*arguments):
    before = set(sys.modules)
    shown(*arguments)
    late = {{name for name in set(sys.modules) - before if not name.startswith(("_", "encodings"))}}
    print("late:", *sorted(late), file=sys.stderr)
run_command._print = spy
thread = run_command.threading.Thread
class Waited(thread):
    def start(self):
        super().start()
        self.join()
run_command.threading.Thread = Waited
from skipline.__main__ import main
sys.argv = ["skipline", "run", "{L2FWD}", "--set", "run.batch_packets=512",
            "--set", "run.max_batches=10"]
main()
"""


def test_each_module_that_is_loaded_early_is_there() -> None:
    for name in run_command.SHOWING:
        importlib.import_module(name)


def test_nothing_is_left_to_load_when_a_result_is_shown() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (late,) = [line for line in done.stderr.splitlines() if line.startswith("late:")]
    assert late == "late:"
