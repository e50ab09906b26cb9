"""Bad input ends with exit code 2 and one message that says what to do; never a stack trace."""

import json
from pathlib import Path

import pytest

from command_line import L2FWD, Outcome, Skipline
from skipline import resources


def assert_refused(done: Outcome, *told: str) -> None:
    """Exit code 2, one error message that contains what is told, nothing on stdout."""
    assert done.code == 2, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("error: ") == 1, done.err
    for text in told:
        assert text in done.err, done.err


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("rx_descriptor=256", ["rx_descriptor", "rx_descriptors"]),
        ("ddio_ways=12", ["ddio_ways", "12", "11"]),
        ("ddio_ways=-1", ["ddio_ways", "-1", "0"]),
        ("ddio_ways=two", ["ddio_ways", "two"]),
        ("rx_descriptors=0", ["rx_descriptors", "0"]),
        ("packet_bytes=100000", ["packet_bytes", "100000"]),
        ("offered_gbps=0", ["offered_gbps", "0"]),
        ("offered_gbps=nan", ["offered_gbps", "NaN"]),
        ("platform=skylake-gold-6141", ["skylake-gold-6141", "skylake-gold-6140"]),
        ("platform=missing.toml", [L2FWD, "`platform` = missing.toml", "no such file"]),
        ("platform=/no/skylake-gold-6141.toml", ["did you mean `skylake-gold-6140`"]),
        ("nic=missing.toml", [L2FWD, "`nic` = missing.toml", "connectx-5"]),
        ("nic=ConnectX5", ["`nic` = ConnectX5: no such NIC; did you mean `connectx-5`?"]),
        ("ssd=P4800", ["no such SSD; did you mean `p4800x`?"]),
        ("application=l2-foward", ['"l2-foward" is not known; did you mean `l2-forward`?']),
        ("RX_DESCRIPTORS=256", ["did you mean `rx_descriptors`?"]),
        ("offered_gbps=200", ["`offered_gbps` = 200", "the card's line rate is 100"]),
        ("platform=genoa", ["AMD's servers are not modelled yet", "docs/how-to/other-servers.md"]),
        ("platform=aws-graviton3", ["not modelled yet"]),
        ("platform=xeon-gold-6338", ["an Ice Lake server", "next to it is ice-lake-40"]),
        ("rx_desc=512", ["did you mean `rx_descriptors`"]),
        ("cores=2.5", ["2.5 is a number with a fraction; expected a whole number"]),
        ("traffic.arrivals=on-off", ['`traffic.arrivals` = "on-off": only with']),
        ("traffic.flow_zipf=1.5", ["`traffic.flow_zipf` = 1.5: only with"]),
        ("placement.header_line=3", ["`placement.header_line` = 3: only with"]),
        ("hardware.dram.path_ns=nan", ["`hardware.dram.path_ns`", "finite number"]),
        ("hardware.dram.path_ns=-inf", ["`hardware.dram.path_ns`", "finite number"]),
        ("tenant.0.name=x", ["`tenant.0.name`", "no list `tenant`", "[[tenant]]"]),
        ("packet_bytes=3000", ["packet_bytes", "3000", "2048", "larger buffer_bytes"]),
        ("buffer_bytes=100000", ["buffer_bytes", "100000", "16384"]),
        ("buffer_bytes=1000", ["`packet_bytes` = 1500", "1000", "larger buffer_bytes"]),
        ("cores=19", ["cores", "19", "18"]),
        ("core_way_mask=0", ["core_way_mask", "0x0", "0x7ff"]),
        ("traffic.patern=fixed", ["traffic.patern", "pattern"]),
        ("traffic.pattern=trainz", ["traffic.pattern", "trainz", "trains", "fixed"]),
        ("traffic.loops=1", ["traffic.loops", "traffic.pcap"]),
        ("nic_socket=2", ["nic_socket", "2", "1"]),
        ("memory_node=cxl", ["memory_node", "[cxl]"]),
        ("evict_on_dma_read=true", ["evict_on_dma_read", "ddio_ways = 0"]),
        ("co_runner.working_set_bytes=0", ["co_runner.0.working_set_bytes", "64"]),
        ("nic.tx_rate_gbps=5", ["nic.tx_rate_gbps", "`hardware.nic.tx_rate_gbps`", "mine.toml"]),
        ("hardware.nic.tx_rate_gbps=0", ["`hardware.nic.tx_rate_gbps` = 0", "0.1"]),
        ("platform=three-level-lru", ["three-level-lru", "ddio", "missing"]),
        ("traffic.pcap=missing.pcap", ["missing.pcap"]),
        ("block_io.depth=4", ["`block_io.depth`", "no effect", "another application"]),
        ("ssd=p4800x", ["`ssd`", "no effect", "uses no SSD"]),
        (
            "hardware.ddio.default_ways=3",
            ["`hardware.ddio.default_ways`", "no effect", "ddio_ways"],
        ),
        ("page_size=4", ["`page_size`", '"2M", "1G"']),
        ("rx_descriptors", ["--set", "rx_descriptors", "KEY=VALUE"]),
        ("=5", ["--set", "=5", "KEY=VALUE"]),
    ],
)
def test_a_wrong_setting_names_key_value_and_what_is_allowed(
    skipline: Skipline, setting: str, told: list[str]
) -> None:
    assert_refused(skipline("run", L2FWD, "--set", setting), *told)


def test_a_setting_that_another_overrides_is_refused(skipline: Skipline) -> None:
    mix = ("traffic.pattern=random", "traffic.sizes=imix")
    settings = [word for setting in (*mix, "packet_bytes=200") for word in ("--set", setting)]
    done = skipline("run", L2FWD, *settings)
    assert_refused(done, "`packet_bytes`", "no effect", "traffic.sizes states the sizes")


def test_a_missing_scenario_is_named(skipline: Skipline) -> None:
    done = skipline("run", "l2forward.toml")
    assert_refused(done, "l2forward.toml", "l2fwd.toml")
    assert len(done.err) < 500


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "s\udcff.toml"],
        ["run", L2FWD, "--set", "platform=s\udcff.toml"],
        ["trace", "s\udcff.toml", "--machine", "three-level-lru"],
        ["trace", "trace.raw64", "--machine", "s\udcff.toml"],
        ["platforms", "show", "s\udcff.toml"],
        ["platforms", "check", "s\udcff.toml"],
        ["budget", "s\udcff.toml"],
        ["calibrate", "s\udcff.toml"],
        ["experiment", "show", "s\udcff.toml"],
    ],
)
def test_a_name_that_is_no_text_is_told_in_letters(
    skipline: Skipline, tmp_path: Path, arguments: list[str]
) -> None:
    (tmp_path / "s\udcff.toml").write_text("")
    (tmp_path / "trace.raw64").write_bytes(bytes(64))
    assert_refused(skipline(*arguments), "ff.toml: ")


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("devices/nic/connectx-5.toml", "a device; a scenario names it with the key `nic`"),
        ("devices/ssd/p4800x.toml", "a device; a scenario names it with the key `ssd`"),
        (L2FWD, "a scenario; to simulate it: skipline run"),
        ("experiments/ddio-bench/pktsize-desc.toml", "an experiment; to simulate it"),
        ("experiments/calibration/gold-6140.toml", "a calibration; to look for parameters"),
    ],
)
def test_a_file_of_another_kind_is_not_taken_for_a_platform(
    skipline: Skipline, file: str, kind: str
) -> None:
    assert_refused(skipline("platforms", "check", file), file, kind)


def test_a_platform_with_a_mistyped_table_is_still_one(skipline: Skipline, tmp_path: Path) -> None:
    text = resources.read_text("platforms/skylake-gold-6140.toml")
    (tmp_path / "p.toml").write_text(text.replace("\n[cpu]\n", "\n[cpuu]\n"))
    assert_refused(skipline("platforms", "check", "p.toml"), "cpuu", "did you mean `cpu`?")


def test_a_fact_has_no_numbered_parts(skipline: Skipline) -> None:
    done = skipline("run", L2FWD, "--set", "hardware.cpu.core_ghz.0=1")
    assert_refused(done, "hardware.cpu.core_ghz", "a fact is replaced whole")


def test_a_file_that_is_there_is_blamed_by_its_path(skipline: Skipline, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    scenario = resources.read_text(L2FWD) + 'platform = "latin.toml"\n'
    (tmp_path / "below" / "s.toml").write_text(scenario)
    (tmp_path / "below" / "latin.toml").write_bytes(b"# \xfc")
    done = skipline("run", "below/s.toml")
    assert_refused(done, "below/latin.toml: cannot be read: not UTF-8 text")
    assert "known" not in done.err


def test_a_platform_that_a_command_names_is_blamed_on_nobody(skipline: Skipline) -> None:
    done = skipline("platforms", "show", "missing.toml")
    assert_refused(done, "error: missing.toml: cannot be read: no such file", "skylake-gold-6140")


@pytest.mark.parametrize("content", [b"cores = ", b"\xff\xfe\x00", b"", b"croes = 1\n"])
def test_a_damaged_scenario_is_named(skipline: Skipline, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "damaged.toml").write_bytes(content)
    assert_refused(skipline("run", "damaged.toml"), "damaged.toml")


@pytest.mark.parametrize("content", [b"", b"llc = ", b"\xff\xfe\x00", b"[lcc]\nslices = 1\n"])
def test_a_damaged_platform_is_named(skipline: Skipline, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "damaged.toml").write_bytes(content)
    assert_refused(skipline("platforms", "check", "damaged.toml"), "damaged.toml")
    done = skipline("run", L2FWD, "--set", "platform=damaged.toml")
    assert_refused(done, "damaged.toml")


PCAP_HEADER = b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty", b""),
        ("truncated-header", PCAP_HEADER[:11]),
        ("wrong-magic", b"not a capture at all, but long enough to be one"),
        ("oversized-record", PCAP_HEADER + bytes(8) + b"\xff\xff\xff\x7f\xff\xff\xff\x7f"),
        ("truncated-record", PCAP_HEADER + bytes(8) + b"\x40\x00\x00\x00\x40\x00\x00\x00abc"),
        ("no-packets", PCAP_HEADER),
    ],
)
def test_a_damaged_capture_is_named(
    skipline: Skipline, tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / f"{name}.pcap").write_bytes(content)
    done = skipline("run", L2FWD, "--set", f"traffic.pcap={name}.pcap")
    assert_refused(done, f"{name}.pcap")


def test_a_capture_is_looked_for_beside_its_scenario_first(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    text = 'platform = "skylake-gold-6140"\n[traffic]\npcap = "c.pcap"\n'
    (tmp_path / "folder" / "mine.toml").write_text(text)
    (tmp_path / "c.pcap").write_bytes(PCAP_HEADER)
    assert_refused(skipline("run", "folder/mine.toml"), "`traffic.pcap`: capture 'c.pcap'")
    (tmp_path / "folder" / "c.pcap").write_bytes(PCAP_HEADER)
    assert_refused(skipline("run", "folder/mine.toml"), "`traffic.pcap`: capture 'folder/c.pcap'")


def test_an_unknown_experiment_suggests_the_nearest(skipline: Skipline) -> None:
    for action in ("run", "show"):
        done = skipline("experiment", action, "pktsize-dsc")
        assert_refused(done, "pktsize-dsc", "did you mean 'pktsize-desc'", "ddio-tune")


def test_scenario_and_experiment_are_told_apart(skipline: Skipline) -> None:
    experiment = "experiments/ddio-bench/ddio-tune.toml"
    assert_refused(skipline("run", experiment), f"skipline experiment run {experiment}")
    assert_refused(skipline("experiment", "run", L2FWD), f"skipline run {L2FWD}")
    assert_refused(skipline("experiment", "show", "l2fwd"), f"skipline run {L2FWD}")


def test_a_report_needs_results(skipline: Skipline, tmp_path: Path) -> None:
    assert_refused(skipline("report", "nowhere"), "nowhere", "`skipline run --out DIR`", "a store")
    (tmp_path / "empty").mkdir()
    assert_refused(skipline("report", "empty"), "empty", "result.json", "outcome.json")
    (tmp_path / "empty" / "result.json").write_text("{}")
    assert_refused(skipline("report", "empty"), "result.json", "not a result")


@pytest.mark.parametrize("number", ["NaN", "Infinity"])
def test_a_report_shows_numbers_alone(
    skipline: Skipline, tmp_path: Path, short_run: Path, number: str
) -> None:
    result = json.loads((short_run / "result.json").read_text())
    result["metrics"]["rx_mpps"]["value"] = float(number)
    (tmp_path / "changed").mkdir()
    (tmp_path / "changed" / "result.json").write_text(json.dumps(result))
    assert_refused(skipline("report", "changed"), "metrics.rx_mpps.value", "finite")


def test_a_file_cannot_be_the_directory_of_results(skipline: Skipline, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    assert_refused(skipline("run", L2FWD, "--out", "taken"), "taken")
    assert_refused(skipline("experiment", "run", "ddio-tune", "--out", "taken"), "taken")
    assert_refused(skipline("run", L2FWD, "--out", "taken/below"), "taken/below")


def test_a_directory_cannot_be_the_report(
    skipline: Skipline, tmp_path: Path, short_run: Path
) -> None:
    (tmp_path / "folder").mkdir()
    assert_refused(skipline("report", str(short_run), "--out", "folder"), "folder")
    assert_refused(skipline("report", str(short_run), "--out", "no/where.html"), "no/where.html")


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["rum", L2FWD],
        ["run", L2FWD, "--format", "xml"],
        ["run", L2FWD, "--seed", "-1"],
        ["run", L2FWD, "--seed", str(2**64)],
        ["run", L2FWD, "--trace-packet", str(2**64)],
        ["run", L2FWD, "--trace-descriptor", "-1"],
        ["experiment", "run"],
        ["run", L2FWD, "--trace-packet", "first"],
        ["experiment", "run", "ddio-tune", "--jobs", "0"],
        ["schema", "nothing"],
        ["platforms", "show"],
    ],
)
def test_wrong_usage_is_told_apart_from_a_failed_run(
    skipline: Skipline, arguments: list[str]
) -> None:
    done = skipline(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "Usage" in done.err
    assert "Traceback" not in done.err
