"""Testbeds as tables."""

from rich.console import Group, RenderableType

from skipline import _core
from skipline.platforms.platforms_view import CONFIDENCE_STYLE, plain
from skipline.platforms.testbeds import Testbed, read
from skipline.text.table import Column, Styled, TextTable, numbers, texts


def overview() -> RenderableType:
    """List the known testbeds with their platform and what each is."""
    columns = (*texts("testbed", "platform"), *numbers("settings", "fitted"), Column(""))
    table = TextTable(columns, has_edges=True)
    for testbed in map(read, _core.testbed_names()):
        fitted = sum(setting.fitted_on is not None for setting in testbed.settings)
        table.add(testbed.name, testbed.platform, len(testbed.settings), fitted, testbed.title)
    return Group(table, "", "skipline testbeds show NAME: every setting with its source")


def details(testbed: Testbed) -> RenderableType:
    """Show what the experiments of a testbed share."""
    own = ", ".join(testbed.measurements) or "none"
    return Group(
        settings_table(testbed),
        "",
        f"Platform {testbed.platform}: skipline platforms show {testbed.platform}",
        f"Its own measurements, in what values were fitted on: {own}",
    )


def settings_table(testbed: Testbed) -> TextTable:
    """Return the settings of a testbed, one per row."""
    columns = (
        Column("key", "key"),
        Column("value", "value", form=plain, right=True),
        Column(None, "source"),
        Column("confidence", "confidence"),
        Column(None, "fitted_on"),
        Column("source"),
    )
    table = TextTable(columns, title=testbed.title, is_title_centred=True, has_edges=True)
    for setting in testbed.settings:
        confidence = Styled(setting.confidence, CONFIDENCE_STYLE.get(setting.confidence, ""))
        origin = (setting.source, confidence, setting.fitted_on)
        table.add(setting.key, setting.value, *origin, setting.whole_source)
    return table
