"""Values of arguments and options for completion by the shell."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_TOML = ".toml"
Items = list["CompletionItem"]


def scenarios(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete a scenario, built in or on disk."""
    from skipline.commands import known_names

    return _items(known_names.scenarios(), typed, _TOML)


def settings(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete a key of scenarios, then its value if those can be listed."""
    from click.shell_completion import CompletionItem

    from skipline.scenarios import scenario_keys

    return [
        CompletionItem(step.text, help=step.meaning) for step in scenario_keys.completions(typed)
    ]


def experiments(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete an experiment: its identifier, or a file on disk."""
    from skipline.commands import known_names

    return _items(known_names.experiments(), typed, _TOML)


def calibrations(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete a calibration, built in or on disk."""
    from skipline.commands import known_names

    return _items(known_names.calibrations(), typed, _TOML)


def platforms(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete a platform: a known name, or a file on disk."""
    from skipline import _core

    return _items(_core.platform_names(), typed, _TOML)


def testbeds(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete a testbed: a known name, or a file on disk."""
    from skipline import _core

    return _items(_core.testbed_names(), typed, _TOML)


def examples(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete the name of an example."""
    from skipline.scenarios import examples as known

    return _items((entry.name for entry in known.entries()), typed)


def toml_files(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete a TOML file on disk."""
    return _items((), typed, _TOML)


def sources(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete the short name of a source of claims."""
    from skipline.commands import known_names

    return _items(known_names.sources(), typed)


def standard_traces(_context: click.Context, _parameter: click.Parameter, typed: str) -> Items:
    """Complete the name of a standard trace."""
    from skipline.traces import trace_calls

    return _items(trace_calls.STANDARD_TRACES, typed)


def _items(names: Iterable[str], typed: str, ending: str | None = None) -> Items:
    """Return the names that begin as typed, and paths on disk if an ending is given."""
    from click.shell_completion import CompletionItem

    from skipline.commands import known_names

    found = [name for name in names if name.startswith(typed)]
    if ending is not None:
        found += known_names.paths(typed, ending)
    return [CompletionItem(name) for name in dict.fromkeys(found)]
