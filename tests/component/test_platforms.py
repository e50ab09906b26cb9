"""Platforms that inherit: a user's own files, what is shown of a fact's origin, what is refused."""

import csv
import io
from pathlib import Path

import pytest

from command_line import L2FWD, REPOSITORY, SHORT, Skipline
from skipline import InputError, _core
from skipline.platforms import makers, platform_facts

MINE = """
title = "Mine"
name = "my server"
extends = "skylake-gold-6140"
card = "xl710"
[cpu]
core_ghz = { value = 2.6, source = "turbostat", confidence = "seen" }
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return str(path)


def _facts(platform: str) -> dict[str, platform_facts.Fact]:
    return {fact.key: fact for fact in platform_facts.facts(platform)}


def test_a_user_s_platform_inherits_from_a_built_in_one(mine: str) -> None:
    facts = _facts(mine)
    own = facts["cpu.core_ghz"]
    assert (own.value, own.confidence, own.origin) == (2.6, "seen", None)
    fitted = facts["cpu.stream_prefetch_lines"]
    assert fitted.source == "assumed as on the Gold 6140, fitted there"
    assert (fitted.confidence, fitted.origin) == ("memory", "platforms/skylake-gold-6140.toml")
    assert facts["nic.line_rate_gbps"].origin == "devices/nic/xl710.toml"
    assert facts["software.poll_cycles"].origin == "software/packets/packet-io.toml"


def test_a_platform_extends_files_beside_it(skipline: Skipline, mine: str) -> None:
    beside = Path(mine).with_name("other.toml")
    beside.write_text('title = "Other"\nextends = "mine.toml"\n')
    facts = _facts(str(beside))
    assert facts["cpu.core_ghz"].source == "assumed as on my server"
    assert facts["cpu.core_ghz"].origin == mine
    assert f"good, {len(facts)} facts" in skipline("platforms", "check", str(beside)).out


def test_the_origin_of_each_fact_is_shown(skipline: Skipline, mine: str) -> None:
    shown = skipline("platforms", "show", mine).out
    (line,) = (line for line in shown.splitlines() if "cpu.stream_prefetch_lines" in line)
    assert "platforms/skylake-gold-6140 " in line
    (line,) = (line for line in shown.splitlines() if "cpu.core_ghz" in line)
    assert " own " in line
    told = skipline("platforms", "show", mine, "--format", "json").json
    assert told["cpu"]["stream_prefetch_lines"]["origin"] == "platforms/skylake-gold-6140.toml"
    assert "origin" not in told["cpu"]["core_ghz"]
    rows = csv.DictReader(io.StringIO(skipline("platforms", "show", mine, "--format", "csv").out))
    origins = {row["key"]: row["origin"] for row in rows}
    assert origins["cpu.core_ghz"] == ""
    assert origins["nic.rx_format"].startswith("devices/")


def test_a_fault_is_that_of_the_file_that_states_the_fact(mine: str) -> None:
    text = MINE.replace("2.6", "-2.6")
    Path(mine).write_text(text)
    heir = Path(mine).with_name("heir.toml")
    heir.write_text('title = "Heir"\nextends = "mine.toml"\n')
    with pytest.raises(InputError, match=f"{mine}, inherited by {heir}: `cpu.core_ghz` = -2.6"):
        platform_facts.facts(str(heir))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('extends = "skylake-gold-6141"', "did you mean `skylake-gold-6140`"),
        ('extends = "mine.toml"', "inherits from itself"),
        ('without = "mash"', "`without` = mash"),
    ],
)
def test_what_cannot_be_inherited_is_refused(mine: str, line: str, told: str) -> None:
    kept = [old for old in MINE.splitlines() if old.partition(" ")[0] != line.partition(" ")[0]]
    Path(mine).write_text("\n".join([line, *kept]))
    with pytest.raises(InputError, match=told):
        platform_facts.facts(mine)


def test_parts_are_no_platforms() -> None:
    assert not [name for name in _core.platform_names() if "/" in name]
    with pytest.raises(InputError, match="`part`: is a part"):
        platform_facts.facts("parts/ddr4")


EPYC = """
title = "AMD EPYC 9354 32-Core Processor as measured on the host itself by skipline-host calibrate"
extends = "sapphire-rapids-56"
because = "not measured on this host"
[cpu]
cores = { value = 32, source = "the kernel: cores of the socket", confidence = "seen" }
"""


def test_a_run_says_that_its_platform_stands_in_for_another_maker_s(
    skipline: Skipline, mine: str
) -> None:
    epyc = Path(mine).with_name("epyc.toml")
    epyc.write_text(EPYC)
    beside = Path(mine).with_name("ours.toml")
    beside.write_text('title = "Ours"\nextends = "epyc.toml"\n')
    told = "another maker's server"
    for name in ("epyc.toml", "ours.toml"):
        done = skipline("run", L2FWD, *SHORT, "--set", f"platform={name}")
        assert done.code == 0, done.err
        assert "The platform is of AMD" in done.out and "sapphire-rapids-56, " + told in done.out
    assert makers.note(mine) is None
    # Those that are built in are what they say.
    assert {makers.note(name) for name in _core.platform_names()} == {None}


def test_cards_and_ssds_are_listed_beside_platforms(skipline: Skipline) -> None:
    shown = skipline("platforms").out
    for key, folder in (("nic", "devices/nic"), ("ssd", "devices/ssd")):
        names = [path.stem for path in (REPOSITORY / folder).glob("*.toml")]
        assert names and all(f" {name} " in shown for name in names)
        assert f"{key} = NAME" in shown
