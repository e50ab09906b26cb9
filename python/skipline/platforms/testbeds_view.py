"""Testbeds as tables for people, and as CSV."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipline import _core
from skipline.platforms.platforms_view import CONFIDENCE_STYLE, plain
from skipline.platforms.testbeds import Testbed, TestbedSetting, read
from skipline.text import csv_text


def overview() -> RenderableType:
    """List the known testbeds with their platform and what each is."""
    table = Table("testbed", "platform", "settings", "fitted", "", box=None)
    for column in table.columns[2:4]:
        column.justify = "right"
    for testbed in map(read, _core.testbed_names()):
        fitted = sum(setting.fitted_on is not None for setting in testbed.settings)
        counts = (str(len(testbed.settings)), str(fitted))
        table.add_row(testbed.name, testbed.platform, *counts, testbed.title)
    return Group(table, "", "skipline testbeds show NAME: every setting with its source")


def details(testbed: Testbed) -> RenderableType:
    """Show what the experiments of a testbed share."""
    table = Table("key", "value", "confidence", "source", title=testbed.title, box=None)
    table.columns[1].justify = "right"
    for setting in testbed.settings:
        confidence = Text(setting.confidence, style=CONFIDENCE_STYLE.get(setting.confidence, ""))
        table.add_row(setting.key, plain(setting.value), confidence, setting.whole_source)
    own = ", ".join(testbed.measurements) or "none"
    return Group(
        table,
        "",
        f"Platform {testbed.platform}: skipline platforms show {testbed.platform}",
        f"Its own measurements, in what values were fitted on: {own}",
    )


def as_csv(testbed: Testbed) -> str:
    """Write one row per setting."""
    columns = tuple(TestbedSetting.model_fields)
    rows = (setting.model_dump().values() for setting in testbed.settings)
    return csv_text.from_rows(columns, rows)
