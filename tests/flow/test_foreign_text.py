"""Control characters of scenarios, names and values reach no terminal, page, table or drawing."""

import unicodedata
from pathlib import Path

import pytest

from command_line import Skipline

HOSTILE = "\x1b]0;PWN\x07\x1b[2J\x1b[31mred \u202ehidden\x9b8m"
ESCAPED = "\\u001b]0;PWN\\u0007\\u001b[2J\\u001b[31mred \\u202ehidden\\u009b8m"
SCENARIO = f"""title = "{ESCAPED}"
question = "{ESCAPED}"
platform = "skylake-gold-6140"
application = "l2-forward"
[run]
batch_packets = 64
max_batches = 10
"""


def assert_harmless(*texts: str) -> None:
    for text in texts:
        wrong = [one for one in text if one != "\n" and unicodedata.category(one) in {"Cc", "Cf"}]
        assert wrong == [], ascii(text[:300])


@pytest.fixture
def hostile(skipline: Skipline) -> Skipline:
    (skipline.directory / "esc.toml").write_text(SCENARIO)
    return skipline


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_run_shows_no_control_character(hostile: Skipline, form: str) -> None:
    done = hostile("run", "esc.toml", "--format", form, "--out", "out")
    assert done.code == 0, done.err
    assert_harmless(done.out, done.err, (hostile.directory / "out" / "result.json").read_text())
    if form == "json":
        assert done.json["scenario"]["title"] == HOSTILE
    page = hostile("report", "out")
    assert page.code == 0, page.err
    assert_harmless((hostile.directory / "out" / "report.html").read_text())


def test_messages_have_no_control_character(hostile: Skipline) -> None:
    for arguments in (
        ["run", "esc.toml", "--set", 'nic="\x1b[31mx"'],
        ["run", "esc.toml", "--set", f"{HOSTILE}=1"],
        ["run", f"{HOSTILE}.toml"],
        ["store", "list", f"{HOSTILE}.duckdb"],
        ["trace", f"{HOSTILE}.din", "--machine", "three-level-lru"],
        ["platforms", "show", HOSTILE],
        ["experiment", "show", HOSTILE],
        [HOSTILE],
    ):
        done = hostile(*arguments)
        assert done.code == 2, (arguments, done)
        assert_harmless(done.out, done.err)


def test_stores_and_their_pages_show_no_control_character(
    hostile: Skipline, tmp_path: Path
) -> None:
    name = f"a{HOSTILE.replace('/', '')}.duckdb"
    swept = hostile("sweep", "esc.toml", "--axis", "rx_descriptors=64,128", "--store", name)
    assert swept.code == 0, swept.err
    shown = [swept, *(hostile("store", command, name) for command in ("list", "show", "check"))]
    for form in ("table", "csv", "json"):
        shown.append(hostile("store", "sql", name, "FROM sweeps", "--format", form))
        query = f"SELECT '{HOSTILE}' AS \"{HOSTILE}\""
        shown.append(hostile("store", "sql", name, query, "--format", form))
    exported = hostile("store", "export", name, "--csv", "a.csv")
    page = hostile("report", name, "--out", "a.html", "--svg", "drawn")
    for done in (*shown, exported, page):
        assert done.code == 0, done.err
        assert_harmless(done.out, done.err)
    files = [tmp_path / "a.csv", tmp_path / "a.html", *(tmp_path / "drawn").iterdir()]
    assert_harmless(*(path.read_text() for path in files))
