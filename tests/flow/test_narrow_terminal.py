"""A narrow terminal shows all that a wide one shows: tables are wrapped or stacked, never cut."""

import csv
import io
import os
import shutil
import subprocess
from array import array
from pathlib import Path

import pytest

from command_line import L2FWD, REPOSITORY, SHORT, Skipline
from on_terminal import shown
from small_experiment import write_small_evidence

# Wider ones have columns more: labels of metrics, intervals of experiments.
WIDE = 107
NARROW = (80, 60)
# Longer words, such as paths, may go on in the next line.
LONGEST_WORD = 40
STORY = ("--trace-packet", "100", "--trace-line", "0xc40040300")
COMMANDS = [
    ("run", L2FWD, *SHORT, "--explain", *STORY),
    ("trace", "t.raw64", "--machine", "three-level-lru", "--explain"),
    ("demo", "--messages", "10240"),
    ("budget",),
    ("metrics",),
    ("platforms",),
    ("platforms", "show", "skylake-gold-6140"),
    ("platforms", "check", "node.toml"),
    ("experiment", "list"),
    ("experiment", "show", "pktsize-desc"),
    ("experiment", "run", "evidence/two-rings.toml", "--out", "out"),
    ("evidence", "--experiments", "evidence", "--out", "out"),
    ("schema", "result"),
    ("store", "show", "results.duckdb"),
    ("diff", "results.duckdb", "results.duckdb", "--all"),
]


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of one point."""
    folder = tmp_path_factory.mktemp("store")
    done = Skipline(folder)("sweep", L2FWD, *SHORT, "--axis", "ddio_ways=2")
    assert done.code == 0, done.err
    return folder / "results.duckdb"


@pytest.fixture
def skipline_with_files(skipline: Skipline, small_store: Path, tmp_path: Path) -> Skipline:
    """The command line in a directory with a trace, a platform and small experiments."""
    (tmp_path / "t.raw64").write_bytes(array("Q", range(0, 1 << 20, 64)).tobytes())
    shutil.copy(REPOSITORY / "platforms" / "three-level-lru.toml", tmp_path / "node.toml")
    write_small_evidence(tmp_path)
    shutil.copy(small_store, tmp_path)
    return skipline


def words(text: str) -> set[str]:
    """Words of an output, but for what differs from run to run: times, and what was kept."""
    passing = ("Took", "two-rings:", "1 experiments:")
    lines = [line for line in text.splitlines() if not line.startswith(passing)]
    return {word for line in lines for word in line.split()}


def missing(narrow: str, wide: str) -> list[str]:
    """Return the words of the wide output that the narrow one has not.

    A heading of a column has a colon where rows are stacked.
    """
    has, run_on = words(narrow), "".join(narrow.split())
    return sorted(
        word
        for word in words(wide)
        if not {word, f"{word}:"} & has and not (len(word) > LONGEST_WORD and word in run_on)
    )


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_word_of_a_wide_terminal_is_on_a_narrow_one(
    skipline_with_files: Skipline, command: tuple[str, ...]
) -> None:
    wide = shown(skipline_with_files, WIDE, *command)
    assert words(wide)
    for columns in NARROW:
        narrow = shown(skipline_with_files, columns, *command)
        assert "…" not in narrow
        assert missing(narrow, wide) == [], narrow


@pytest.mark.parametrize(
    ("command", "longest"),
    [
        (("platforms", "show", "skylake-gold-6140"), "source"),
        (("experiment", "list"), "question"),
    ],
)
def test_what_is_piped_has_each_row_in_one_line(
    skipline: Skipline, command: tuple[str, ...], longest: str
) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    piped = subprocess.run(
        skipline.arguments(*command),
        cwd=skipline.directory,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    texts = [
        row[longest]
        for row in csv.DictReader(io.StringIO(skipline(*command, "--format", "csv").out))
    ]
    assert max(map(len, texts)) > WIDE
    assert [text for text in texts if not any(text in line for line in piped.splitlines())] == []
