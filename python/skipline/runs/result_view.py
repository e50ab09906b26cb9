"""A run's result as tables: grouped numbers, evictions, occupancy over time."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from skipline._core import InputError
from skipline.model_error import view as model_error_view
from skipline.platforms import makers, platform_facts
from skipline.platforms.platform_facts import Fact
from skipline.runs import agents as agent_names
from skipline.runs.result import Entry, MissKinds, Result, natural_order
from skipline.scenarios import metrics
from skipline.text import quantity, terminal
from skipline.text.quantity import Number
from skipline.text.table import Column, TextTable, numbers, texts

# Groups that have tables of their own.
_LATENCY, _EVICTIONS = "Latency", "Evictions"
_MAIN = "main"
APART = {_LATENCY, _EVICTIONS}
# Least terminal width for a table of latencies with one row each.
_WIDE = 108
# Resources that the busiest are named of.
_MOST_LIMITS = 4
# Figures of a latency that fit in one row.
_MOST_ACROSS = 10
# Agents with a column of their own in a timeline.
_MOST_AGENTS = 6
# Of many devices and cores, most pairs have next to nothing.
_MOST_EVICTIONS = 10
_OCCUPANCY = "llc_occupancy_bytes."


def groups(result: Result) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the result's groups of numbers, all metrics of another tenant as one of them."""
    blocks: dict[str, list[Entry]] = {}
    for name in result.in_order():
        tenant, _, _ = name.rpartition(":")
        if tenant and tenant not in result.tenants():
            continue
        title = f"Tenant {tenant}" if tenant else result.description(name).group
        if title not in APART:
            blocks.setdefault(title, []).extend(result.by_component(name))
    yield from blocks.items()


def readable(component: str) -> str:
    """Write the name of a component for people."""
    return component.replace("_", " ")


def overview(result: Result) -> RenderableType:
    """Show what happened and why, the numbers that matter most, and how the run went."""
    found: dict[str, list[Entry]] = {}
    machine = "The whole machine" if result.tenants() else "Key numbers"
    for name in ("", *result.tenants()):
        for entry in result.key_numbers(name):
            tenant = result.tenant_of(entry.metric)
            found.setdefault(f"Tenant {tenant}" if tenant else machine, []).append(entry)
    table = _metrics_table(result, list(found.items()), labelled=terminal.width() >= _WIDE)
    warnings = [*_unsettled(result), *notes(result)]
    believed = [model_error] if (model_error := _model_error(result)) else []
    return Group(
        *_headed(result), table, "", *_busiest(result), *warnings, *believed, _in_short(result)
    )


def _in_short(result: Result) -> str:
    """Return the facts of a run that no reader should miss, in one line."""
    facts = _facts_of(result.platform)
    fitted = len(result.fitted_parameters)
    guessed = sum(fact.confidence == "memory" for fact in facts)
    of_facts = f"; guessed: {guessed} of {len(facts)} facts" if facts else ""
    return (
        f"Took {result.wall_s:.2f} s for {result.simulated_ns / 1e6:,.2f} ms of {result.platform}, "
        f"seed {result.seed}. Fitted: {fitted or 'none'}{of_facts}. The rest: --all"
    )


def _headed(result: Result) -> list[RenderableType]:
    title = Text(result.title, style="bold")
    return [title, result.answer] if result.answer else [title]


def _busiest(result: Result) -> list[str]:
    """Name the resources that were busiest."""
    shares = [
        f"{limit.resource} {limit.utilisation_percent:.0f} %"
        for limit in result.limits[:_MOST_LIMITS]
    ]
    return [f"Busiest: {'; '.join(shares)}."] if shares else []


def everything(result: Result) -> RenderableType:
    """Show all of the result: grouped numbers with intervals, latency, how the run went."""
    wide = terminal.width() >= _WIDE
    blocks = list(groups(result))
    across: list[RenderableType] = []
    for label, entries in latencies(result):
        if wide and len(entries) <= _MOST_ACROSS:
            across += ["", _latency_table(label, entries)]
        else:
            blocks.append((label, entries))
    table = _metrics_table(result, blocks, labelled=wide)
    over_time = ["", occupancy_table(result)] if result.timeline else []
    facts = ("", *_busiest(result), *run_facts(result), slice_function_in_full(result))
    return Group(*_headed(result), table, *across, *over_time, *facts)


def _metrics_table(
    result: Result, blocks: list[tuple[str, list[Entry]]], *, labelled: bool
) -> TextTable:
    """Show names, which scripts use; `labelled`, what people call them, too."""
    columns = (
        *texts(*(["label"] if labelled else [])),
        Column("metric", least_width=34, style="dim" if labelled else ""),
        Column("value", right=True, least_width=14),
        Column("ci95", style="dim"),
        Column("unit"),
    )
    table = TextTable(columns, has_header=False)
    for title, entries in blocks:
        table.add_heading(title)
        last = ""
        for entry in entries:
            label = "" if entry.metric == last else result.description(entry.metric).label
            last = entry.metric
            name = _name_of(entry)
            text = quantity.text_beside(entry.metric, entry.value, entry.ci95, entry.unit)
            table.add(*([f"  {label}", name] if labelled else [f"  {name}"]), *text)
    return table


def _latency_table(label: str, entries: list[Entry]) -> TextTable:
    columns = (
        Column(label, heading_style="bold cyan"),
        *numbers(*(entry.component or "" for entry in entries)),
    )
    table = TextTable(columns)
    written = [quantity.text(entry.value, entry.ci95, entry.unit) for entry in entries]
    table.add("  value", *(f"{text.value} {text.unit}" for text in written))
    table.add("  95 %", *(text.ci95 for text in written), style="dim")
    return table


def latencies(result: Result) -> Iterator[tuple[str, list[Entry]]]:
    """Yield each latency of the main tenant: its label, its figures from shortest to longest."""
    for name in sorted(result.metrics, key=metrics.rank):
        group, label, _ = result.description(name)
        if group == _LATENCY and ":" not in name:
            yield label, sorted(result.metrics[name].entries(name), key=_rank)


def latencies_of_all(result: Result) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the latencies of each tenant, with its name in the label if there are several."""
    yield from (
        (f"{label} of {_MAIN}" if result.tenants() else label, entries)
        for label, entries in latencies(result)
    )
    for name in sorted(result.metrics, key=metrics.rank):
        group, label, _ = result.description(name)
        tenant = name.rpartition(":")[0]
        if group == _LATENCY and tenant:
            yield f"{label} of {tenant}", sorted(result.metrics[name].entries(name), key=_rank)


def _rank(entry: Entry) -> float:
    """Put `min`, percentiles, `max` and `mean` in this order; what else there is comes last."""
    name = entry.component or ""
    ends = {"min": -1.0, "max": 101.0, "mean": 102.0}
    is_percentile = name.startswith("p")
    return float(name.removeprefix("p")) if is_percentile else ends.get(name, 103.0)


def run_facts(result: Result) -> list[str]:
    """Describe in a few lines how the run went, and what was fitted and guessed."""
    stop = {
        "interval": "results are precise enough (for a longer run: --set run.min_batches)",
        "cap": "it had run.max_batches batches before results were precise enough",
        "source ended": "the traffic source ended",
        "stalled": "packets came but none left any more",
    }.get(result.stopped_by, result.stopped_by)
    measured_ms = (result.simulated_ns - result.warmup_ns) / 1e6
    measured = (
        f"the last {measured_ms:,.2f} ms ({result.batches} batches); what came before is warm-up"
        if result.warmup_ns
        else "all of it"
    )
    without_packets = "operations of the log" if result.replays else "units of work"
    work = "packets" if "throughput_gbps" in result.metrics else without_packets
    facts = _facts_of(result.platform)
    return [
        f"Simulated {result.packets:,} {work} in {result.simulated_ns / 1e6:,.2f} ms; the metrics "
        f"are of {measured}. The run ended because {stop}.",
        *_unsettled(result),
        *notes(result),
        f"Took {result.wall_s:.2f} s: {result.line_ops_per_s / 1e6:,.1f} million line operations "
        f"(one line of one request) per second, "
        f"{_pace(1e9 * result.wall_s / result.simulated_ns)} than real time.",
        "± (95 %) covers this run only. Another --seed places pages elsewhere: where rings just "
        "fill the DDIO ways, hit rates of seeds differ by ten percentage points and more: "
        "--repeats tells.",
        *([model_error] if (model_error := _model_error(result)) else []),
        f"Platform {result.platform}, seed {result.seed}, version {result.version}. "
        f"{_slices_in_short(result, facts)}",
        *_testbed_facts(result),
        f"{_guessed(result.platform, facts)}Fitted: {fitted_names(result)}.",
    ]


def notes(result: Result) -> list[str]:
    """Return what readers must not miss: the result's own notes, and a platform that stands in."""
    base = makers.note(result.platform)
    every = (*result.notes, *([base] if base else []))
    return [note if note.endswith(".") else f"{note}." for note in every]


def _unsettled(result: Result) -> list[str]:
    if result.settled:
        return []
    return [
        "It has not settled: queues were still filling, or receive rings had not been used from "
        "end to end. The metrics describe how it began; raise run.max_batches."
    ]


def _model_error(result: Result) -> str:
    """Return what is known of the model's own error, of the main tenant's numbers."""
    numbers = ((_name_of(entry), entry.value) for entry in result.entries())
    return model_error_view.of_numbers(numbers)


def _name_of(entry: Entry) -> str:
    """Return the name of a number: its metric, and its component if it has one."""
    return entry.metric if entry.component is None else f"{entry.metric}.{entry.component}"


def slice_function_in_full(result: Result) -> str:
    """Return the whole sentence of a result on slice function and set index, with sources."""
    return f"Slice function in full: {result.slice_function}."


def _slices_in_short(result: Result, facts: Sequence[Fact]) -> str:
    """Return slice function and set index in a few words: published, stand-in, a guess."""
    function, _, sets = result.slice_function.partition("; ")
    if sets.startswith("the same rule"):
        sets = sets.partition("; ")[2]
    replaced = (result.scenario.get("hardware") or {}).get("llc") or {}
    stated = next((fact.value for fact in facts if fact.key == "llc.slice_function"), None)
    name = replaced.get("slice_function", stated)
    if "stand-in" in function:
        kind = "a stand-in"
    else:
        kind = "from a table" if name == "table" else "published"
    named = f" ({name})" if name not in {None, "table"} else ""
    index = f" Set index: {sets.partition(' (')[0].removesuffix(' set index')}, a guess"
    fitted = ", fitted" if "fitted" in sets else ""
    return f"Slice function: {kind}{named}.{f'{index}{fitted}.' if sets else ''}"


def _facts_of(platform: str) -> list[Fact]:
    """Return the facts of a platform; none if its file is not here."""
    try:
        return platform_facts.facts(platform)
    except InputError:
        return []


def _guessed(platform: str, facts: Sequence[Fact]) -> str:
    """Count the guessed facts of a platform; empty if its file is not here."""
    if not facts:
        return ""
    guessed = sum(fact.confidence == "memory" for fact in facts)
    return f"Guessed: {guessed} of {len(facts)} facts; see skipline platforms show {platform}. "


def _pace(slowdown: float) -> str:
    if slowdown >= 1:
        return f"{slowdown:,.1f} × slower"
    return f"{1 / slowdown:,.1f} × faster"


def _testbed_facts(result: Result) -> list[str]:
    """Name the keys that the scenario takes from its testbed."""
    if result.testbed is None:
        return []
    keys = ", ".join(setting.key for setting in result.testbed.settings)
    return [f"Taken from testbed {result.testbed.name}: platform{', ' if keys else ''}{keys}."]


def fitted_names(result: Result) -> str:
    """Name the fitted parameters, and count those of other machines.

    Platforms and testbeds say which data they were fitted on.
    """
    own = [parameter.key for parameter in result.fitted_parameters if not parameter.is_elsewhere]
    elsewhere = len(result.fitted_parameters) - len(own)
    beside = f"; on other machines, and assumed for this one: {elsewhere}" if elsewhere else ""
    return f"{', '.join(own) or 'none'}{beside}"


def evictions(result: Result) -> list[tuple[str, str, Number, Number]]:
    """Return rows (evictor, owner, lines evicted after they were read, lines evicted unread).

    Those with most lines come first.
    """
    metric = result.metrics.get("evictions")
    counts: dict[tuple[str, str], dict[str, Number]] = {}
    for entry in metric.entries("evictions") if metric else ():
        pair, _, state = (entry.component or "").rpartition(":")
        evictor, _, owner = pair.partition(">")
        counts.setdefault((evictor, owner), {})[state] = entry.value
    rows = [(*pair, by.get("read") or 0, by.get("unread") or 0) for pair, by in counts.items()]
    rows.sort(key=lambda row: (natural_order(row[0]), natural_order(row[1])))
    return sorted(rows, key=lambda row: -((row[2] or 0) + (row[3] or 0)))


def evictions_table(result: Result) -> RenderableType:
    """Show whose allocation pushed out whose lines, and whether they had been read."""
    rows = evictions(result)
    if not rows:
        return "No line was evicted from the LLC."
    total = sum((read or 0) + (unread or 0) for _, _, read, unread in rows) or 1
    unit = result.metrics["evictions"].unit
    columns = (
        *texts("evictor", "owner of the line"),
        Column("read before", unit=unit, form=quantity.count, right=True),
        Column("unread", unit=unit, form=quantity.count, right=True),
        Column("share", form="{:.1f} %".format, right=True),
    )
    table = TextTable(columns, title="Who evicted whom from the LLC", has_edges=True)
    shown, others = rows[:_MOST_EVICTIONS], rows[_MOST_EVICTIONS:]
    if others:
        read_of_others = sum(row_read or 0 for _, _, row_read, _ in others)
        unread_of_others = sum(row_unread or 0 for _, _, _, row_unread in others)
        shown.append((f"{len(others)} others", "", read_of_others, unread_of_others))
    for evictor, owner, read, unread in shown:
        share = 100 * ((read or 0) + (unread or 0)) / total
        table.add(evictor, owner, read, unread, share)
    return table


def occupancy_table(result: Result) -> RenderableType:
    """Show how much of the LLC holds lines of each agent, batch by batch."""
    held: dict[str, list[float]] = {}
    for point in result.timeline:
        for name, value in point.metrics.items():
            if name.startswith(_OCCUPANCY):
                held.setdefault(name.removeprefix(_OCCUPANCY), []).append(value or 0)
    agents = sorted(held, key=lambda agent: (-max(held[agent]), natural_order(agent)))
    names = agent_names.labels(result)
    shown, others = agents[:_MOST_AGENTS], agents[_MOST_AGENTS:]
    columns = (
        Column("until", unit="us", form=",.0f", right=True),
        *numbers(
            *(names.get(agent, agent) for agent in shown),
            *(["others"] if others else []),
            form=",.2f",
        ),
    )
    # A title of the table would be cut to the width of its columns.
    table = TextTable(columns, has_edges=True)
    for number, point in enumerate(result.timeline):
        bytes_held = [held[agent][number] for agent in shown]
        if others:
            bytes_held.append(sum(held[agent][number] for agent in others))
        table.add(point.until_ns / 1e3, *(value / (1 << 20) for value in bytes_held))
    title = Text("LLC occupancy over time, MiB", style="bold cyan")
    return Group(title, table, agent_names.ABOUT)


def miss_kinds_table(kinds: dict[str, MissKinds], title: str, first: str) -> RenderableType:
    """Show why requests missed: compulsory, capacity, conflict; `first` names the rows."""
    names = ("requests", "misses", "compulsory", "capacity", "conflict", "invalidated")
    columns = (Column(first), *numbers(*names, form=quantity.count))
    table = TextTable(columns, title=title, has_edges=True)
    for name, counts in kinds.items():
        table.add(
            name,
            counts.hits + counts.misses,
            counts.misses,
            counts.compulsory,
            counts.capacity,
            counts.conflict,
            counts.invalidated,
        )
    return Group(
        table,
        "Compulsory: never requested before. Capacity: a fully associative LRU cache of the same "
        "size misses, too.",
        "Conflict: such a cache would hit (cause: sets, way masks, replacement). Invalidated: a "
        "device wrote the line to memory.",
    )


def device_writes_table(kinds: dict[str, MissKinds]) -> RenderableType:
    """Show why device writes missed: too many lines for their ways, or some sets too full."""
    columns = (
        Column("device"),
        *numbers("writes", "hits", "first writes", "capacity", "conflict", form=quantity.count),
    )
    title = "Why device writes missed, over the measured time"
    table = TextTable(columns, title=title, has_edges=True)
    for name, counts in kinds.items():
        writes = counts.hits + counts.misses
        first = counts.compulsory + counts.invalidated
        table.add(name, writes, counts.hits, first, counts.capacity, counts.conflict)
    return Group(
        table,
        "Capacity: more lines circulate than the ways of devices hold; lower rings and pools, or "
        "raise ddio_ways.",
        "Conflict: they would hold it, but for full sets, other agents or the replacement policy; "
        "try another pool_placement.",
    )


def numbers_table(result: Result) -> TextTable:
    """Return a row per number, for programs: metric, component, value, ci95, unit."""
    return TextTable((Column(None, key) for key in Entry._fields), result.entries())
