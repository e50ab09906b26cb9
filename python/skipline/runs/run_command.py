"""`skipline run`: one scenario, printed and optionally stored."""

import importlib
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from skipline import _core, atomic
from skipline._core import InputError
from skipline.runs.perfetto_file import TimelineFile, TimelineRequest
from skipline.scenarios.settings import parse_settings
from skipline.text import foreign, terminal

RESULT_FILE = "result.json"
# What a result is read and shown by; none of it is needed for refusals and JSON.
SHOWING = (
    "msgspec",
    "rich.table",
    "skipline.text.layout",
    *(f"skipline.runs.{name}" for name in ("descriptor_replay_view", "result_view", "story_view")),
)


@dataclass(frozen=True)
class Request:
    """The arguments of `skipline run`."""

    scenario: str
    settings: list[str]
    seed: int | None
    out: Path | None
    explain: bool
    show_all: bool
    trace_packet: int | None
    trace_line: int | None
    trace_descriptor: int | None
    timeline: TimelineRequest | None
    # Number of seeds that are simulated; None for a plain run.
    repeats: int | None = None

    def prepare(self) -> None:
        """Find out before the simulation whether its files can be written."""
        if self.out is not None:
            atomic.prepare_directory(self.out)
        if self.timeline is not None:
            self.timeline.prepare()


def execute(request: Request, output: str) -> None:
    """Simulate, store the result if asked to, and print it as `output` (table, json or csv)."""
    if request.repeats is not None:
        _execute_repeats(request, request.repeats, output)
        return
    timeline = None if request.timeline is None else TimelineFile(request.timeline)
    with terminal.progress_bar("simulating") as bar:
        text = _core.run(
            request.scenario,
            parse_settings(request.settings),
            request.seed,
            request.trace_packet,
            lambda state: bar.update(state["fraction"]),
            trace_line=request.trace_line,
            trace_descriptor=request.trace_descriptor,
            miss_kinds=request.explain,
            # Bad input leaves no directory behind, and a bad directory costs no simulation.
            resolved=lambda: _begin(request, output),
            perfetto_window=None if request.timeline is None else request.timeline.window,
            perfetto=None if timeline is None else timeline.take,
        )
    if request.trace_packet is not None:
        _require_trace(text, request)
    if request.trace_descriptor is not None:
        _require_descriptor(text, request)
    if timeline is not None:
        timeline.write()
    if request.out is not None:
        atomic.write(request.out / RESULT_FILE, foreign.in_json(text) + "\n")
    _print(request, text, output)
    if request.out is not None:
        terminal.note(f"wrote {request.out / RESULT_FILE}")


def _begin(request: Request, output: str) -> None:
    request.prepare()
    if output != "json":
        # Without a thread it is loaded later.
        with suppress(RuntimeError):
            threading.Thread(target=_load_views).start()


def _load_views() -> None:
    """Load beside the simulation what shows a result: that takes as long as a short one."""
    # What cannot be loaded is told where it is needed.
    with suppress(Exception):
        for name in SHOWING:
            importlib.import_module(name)


def _execute_repeats(request: Request, repeats: int, output: str) -> None:
    """Simulate with several seeds side by side; what is told of one run alone is refused."""
    from skipline.runs import seeds

    for flag, given in (
        ("--trace-packet", request.trace_packet),
        ("--trace-line", request.trace_line),
        ("--trace-descriptor", request.trace_descriptor),
        ("--perfetto", request.timeline),
        ("--explain", request.explain or None),
    ):
        if given is not None:
            raise InputError(
                f"--repeats {repeats}: {flag} tells of one run; leave out --repeats, or {flag}"
            )
    chosen = seeds.of_repeats(seeds.FIRST if request.seed is None else request.seed, repeats)
    with terminal.progress_bar("simulating") as bar:
        texts = seeds.run(
            request.scenario,
            parse_settings(request.settings),
            chosen,
            bar.update,
            resolved=request.prepare,
        )
    if request.out is not None:
        for seed, text in zip(chosen, texts, strict=True):
            folder = request.out / f"seed-{seed}"
            atomic.prepare_directory(folder)
            atomic.write(folder / RESULT_FILE, foreign.in_json(text) + "\n")
    _print_repeats(request, texts, output)
    if request.out is not None:
        terminal.note(f"wrote {request.out}/seed-{chosen[0]} to seed-{chosen[-1]}")


def _print_repeats(request: Request, texts: list[str], output: str) -> None:
    from skipline.runs import repeats_view, result

    parsed = [result.parse(text, request.scenario) for text in texts]
    if output == "json":
        terminal.emit_json(repeats_view.as_json(texts, parsed))
    elif output == "csv":
        terminal.emit(repeats_view.numbers_table(parsed).as_csv())
    else:
        terminal.show(repeats_view.overview(parsed, everything=request.show_all))


def _require_trace(text: str, request: Request) -> None:
    from skipline.runs import result

    if result.parse(text, request.scenario).trace:
        return
    raise InputError(
        f"--trace-packet {request.trace_packet}: no such packet; packets that got a descriptor are "
        "numbered from 0, and this run ended before this one came"
    )


def _require_descriptor(text: str, request: Request) -> None:
    from skipline.runs import result

    if result.parse(text, request.scenario).descriptor_trace:
        return
    raise InputError(
        f"--trace-descriptor {request.trace_descriptor}: no such descriptor; those that cores "
        "prepare for copy engines are numbered from 0, and this run ended before this one came"
    )


def _print(request: Request, text: str, output: str) -> None:
    if output == "json":
        terminal.emit_json(text)
        return
    from skipline.runs import descriptor_replay_view, result, result_view, story_view

    parsed = result.parse(text, request.scenario)
    if output == "csv":
        terminal.emit(result_view.numbers_table(parsed).as_csv())
        return
    shown = result_view.everything if request.show_all else result_view.overview
    parts = [shown(parsed), *descriptor_replay_view.tables(parsed)]
    if request.explain:
        parts += ["", result_view.evictions_table(parsed)]
        title = "Why requests missed the LLC, over the measured time"
        parts += ["", result_view.miss_kinds_table(parsed.miss_kinds or {}, title, "agent")]
        if parsed.device_write_kinds:
            parts += ["", result_view.device_writes_table(parsed.device_write_kinds)]
    if request.trace_packet is not None:
        parts += ["", story_view.trace_table(parsed, request.trace_packet)]
    if request.trace_line is not None:
        parts += ["", story_view.line_table(parsed, request.trace_line)]
    if request.trace_descriptor is not None:
        parts += ["", story_view.descriptor_table(parsed)]
    terminal.show(*parts)
