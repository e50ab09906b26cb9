"""The reference of metrics, generated from their declarations."""

from itertools import groupby

from skipline.scenarios import metrics

_INTRODUCTION = """# Metrics

What `skipline run` prints, and what its JSON has below `metrics`; `skipline metrics` prints the
same list. A metric *by core*, *by agent* or the like has one number for each, written
`NAME.COMPONENT`: `llc_misses_per_s.core0`. Those of a tenant beside the main one begin with its
name: `NAME:throughput_gbps`."""


def metric_table() -> str:
    """Return the page of all metrics."""
    parts = [_INTRODUCTION]
    for group, entries in groupby(metrics.declared().values(), lambda entry: entry.group):
        rows = (
            f"| `{entry.name}` | {entry.unit} | {entry.by or ''} | {entry.of} | {entry.about} |"
            for entry in entries
        )
        header = ["| metric | unit | by | of | meaning |", "| --- | --- | --- | --- | --- |"]
        parts += [f"## {group}", "\n".join([*header, *rows])]
    return "\n\n".join(parts) + "\n"
