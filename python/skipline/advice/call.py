"""`skipline.advise`: advice from Python, in a script or a notebook."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath

from skipline import extras
from skipline._core import InputError
from skipline.advice.advice import Advice, Request
from skipline.advice.advice import advise as search
from skipline.advice.goal import Goal
from skipline.diff import bound
from skipline.scenarios import settings
from skipline.store import opening
from skipline.text import terminal
from skipline.text.nearest import did_you_mean

Progress = Callable[[float, str], None]
_DEFAULT_SEED = 1


def advise(  # noqa: PLR0913 - keywords
    scenario: str | PathLike[str],
    goal: str,
    overrides: Mapping[str, object] | None = None,
    *,
    knobs: Sequence[str] = (),
    constraints: Sequence[str] = (),
    budget: int | None = None,
    time_s: float | None = None,
    store: str | PathLike[str] | None = None,
    jobs: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    **keys: object,
) -> Advice:
    """Find settings of a scenario that reach a goal; say what each brings, and what it costs.

    `goal` is p99, throughput, isolation, memory-bandwidth or energy-free-cores. `overrides` and
    `keys` are those of `skipline.run`; what they state stays as it is. `knobs` are the keys that
    may change, all that a machine has by default. `constraints` are bounds such as
    `"throughput_gbps>=0.98x"`. At most `budget` settings are tried, for at most `time_s` seconds.
    `store` keeps what is simulated; `progress` gets the share that is done and a text.
    Raises InputError for bad input, and for a goal that the scenario has no number for.

    >>> import skipline
    >>> short = {"run": {"batch_packets": 1024, "max_batches": 10}}
    >>> goal, knobs = "memory-bandwidth", ["ddio_ways"]
    >>> found = skipline.advise("examples/large-ring.toml", goal, short, knobs=knobs, budget=4)
    >>> int(found.settings["ddio_ways"]) > 2  # two ways are what the scenario has
    True
    >>> found.gain.now < found.gain.before  # GB/s of DRAM
    True
    >>> [part.key for part in found.parts]
    ['ddio_ways']
    """
    extras.require("advise", "advice")
    from skipline.store.writing import Writer
    from skipline.sweeps.drive import Options
    from skipline.sweeps.engine import parse_engine

    if goal not in list(Goal):
        known = ", ".join(Goal)
        raise InputError(f"goal '{goal}': unknown{did_you_mean(goal, Goal)}; known: {known}")
    request = Request(
        fspath(scenario),
        tuple(settings.of_python(overrides or {}, keys)),
        Goal(goal),
        tuple(knobs),
        tuple(bound.parse(text, "constraints") for text in constraints),
        budget,
        time_s,
        _DEFAULT_SEED if seed is None else seed,
    )
    path = None if store is None else fspath(store)
    if path is not None:
        opening.check_file(path, write=True)
    options = Options(parse_engine("local", jobs))
    with Writer(path) as writer, terminal.progress_bar("advise") as bar:
        return search(request, writer, options, progress or bar.update)
