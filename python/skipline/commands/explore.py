"""`skipline explore`."""

import os
import sys
import webbrowser
from pathlib import Path

import click

from skipline import _core
from skipline.commands import options, suggestions
from skipline.commands.command import Command
from skipline.text import terminal

_DEFAULT = "experiments/ddio-bench/l2fwd.toml"


@click.command(
    cls=Command,
    examples=[
        "skipline explore",
        "skipline explore forward-100g",
        "skipline explore my-server.toml --set rx_descriptors=512 --no-browser",
    ],
)
@click.argument(
    "scenario",
    metavar="[SCENARIO]",
    required=False,
    help="Scenario file, on disk or built in, or the name of an example.",
    shell_complete=suggestions.scenarios,
)
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="Replace a scenario key; repeatable.",
    shell_complete=suggestions.settings,
)
@options.seed
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def explore(
    scenario: str | None, settings: tuple[str, ...], seed: int | None, no_browser: bool
) -> None:
    """Move sliders and see the leak: a page in the browser, simulated by this machine."""
    from skipline.explorer import page, server
    from skipline.scenarios import names
    from skipline.scenarios.settings import parse_settings

    page.require()
    opened = ""
    if scenario is not None or settings or seed is not None:
        wanted = names.path_of(scenario or _DEFAULT)
        overrides = parse_settings(list(settings))
        _core.check_scenario(wanted, overrides)
        path = Path(wanted)
        opened = f"#{page.link(str(path.absolute()) if path.exists() else wanted, overrides, seed)}"
    with server.started() as serving:
        # Files that the page gives are found beside scenarios without a folder.
        os.chdir(serving.files)
        address = serving.address + opened
        terminal.emit(address)
        sys.stdout.flush()
        terminal.note("the page is for this machine alone; Ctrl-C ends it")
        if not no_browser:
            webbrowser.open(address)
        serving.serve_forever()
