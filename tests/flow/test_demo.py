"""`skipline demo` shows a leak and what DDIO saves, `skipline budget` the time of a packet."""

import csv
import io
import shlex
from pathlib import Path

import pytest

from command_line import Skipline
from skipline.commands.demo import write_page
from skipline.runs import result
from skipline.runs.run_command import RESULT_FILE

SHORT = ("demo", "ping-pong", "--messages", "10240")
PERCENTILES = ("p25", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "p99.999")


def test_the_demo_reports_both_sides_for_programs(skipline: Skipline) -> None:
    report = skipline(*SHORT, "--format", "json").json
    off, on = report["ddio_off"], report["ddio_on"]
    for side in (off, on):
        latency = side["one_way_latency_us"]
        assert {"min", "max", "mean", "sd", "mean_ci99", *PERCENTILES} <= latency.keys()
        assert side["messages"] >= 10_240
        in_order = [latency[name] for name in ("min", *PERCENTILES, "max")]
        assert in_order == sorted(in_order)
        counters = side["counters_per_10_s"]
        ratio = counters["L3 misses of loads"] / counters["L2 misses of loads"]
        assert counters["L3 miss ratio, percent"] == pytest.approx(100 * ratio)
        ipc = counters["instructions"] / counters["cycles"]
        assert counters["instructions per cycle"] == pytest.approx(ipc)
    gap_ns = (off["one_way_latency_us"]["p50"] - on["one_way_latency_us"]["p50"]) * 1e3
    assert report["off_minus_on_ns"]["p50"] == pytest.approx(gap_ns)
    # Half of two dependent loads, each from memory instead of the LLC.
    assert 50 < gap_ns < 100
    assert (
        on["counters_per_10_s"]["L3 misses of loads"] * 20
        < (off["counters_per_10_s"]["L3 misses of loads"])
    )


def test_the_demo_reports_to_people_as_sockperf_and_perf_stat_do(skipline: Skipline) -> None:
    done = skipline(*SHORT)
    assert done.code == 0, done.err
    for part in (
        "99 % confidence interval of the average",
        "standard deviation",
        "one-way latency, us",
        "p99.999",
        "off - on, ns",
        "polling core in 10 s",
        "instructions per cycle",
        "L3 miss ratio, percent",
        "smallest frame at 10 Gbit/s",
    ):
        assert part in done.out, part


def test_equal_seeds_give_equal_reports_and_others_do_not(skipline: Skipline) -> None:
    first, again, other = (
        skipline(*SHORT, "--seed", seed, "--format", "csv").out for seed in ("3", "3", "4")
    )
    assert first == again
    assert first != other
    rows = list(csv.DictReader(io.StringIO(first)))
    assert rows[0].keys() == {"number", "unit", "ddio_off", "ddio_on"}


def test_too_few_messages_for_an_interval_are_refused(skipline: Skipline) -> None:
    done = skipline("demo", "--messages", "100")
    assert done.code == 2
    assert "10240" in done.err


def test_time_budgets_are_arithmetic_and_the_platform_is_in_the_ranges_of_the_blog(
    skipline: Skipline,
) -> None:
    frames = skipline("budget", "--format", "json").json
    budget = skipline("budget", "cascade-lake-blog", "--format", "json").json
    # Without a platform nothing is said that would be another server's.
    assert frames == {name: ns for name, ns in budget.items() if "frame" in name}
    assert budget["smallest frame at 10 Gbit/s"] == pytest.approx(67.2)
    assert budget["smallest frame at 40 Gbit/s"] == pytest.approx(16.8)
    assert budget["smallest frame at 100 Gbit/s"] == pytest.approx(6.72)
    assert budget["smallest frame at 200 Gbit/s"] == pytest.approx(3.36)
    assert budget["the frame alone at 100 Gbit/s"] == pytest.approx(5.12)
    assert budget["NIC, PCIe forwarding"] >= 150
    assert 60 <= budget["memory, per access"] <= 100


def test_a_platform_without_a_nic_has_no_budget(skipline: Skipline) -> None:
    done = skipline("budget", "three-level-lru")
    assert done.code == 2
    assert "nic.rx_pipeline_ns" in done.err


@pytest.fixture(scope="module")
def leak(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demo without an argument: its folder, and what it tells."""
    folder = tmp_path_factory.mktemp("demo")
    done = Skipline(folder)("demo")
    assert done.code == 0, done.err
    return folder, done.out


def test_the_demo_tells_a_leak_in_words_and_names_its_page(
    leak: tuple[Path, str], skipline: Skipline
) -> None:
    folder, told = leak
    report = skipline("demo", "--format", "json").json
    small, large = report["small_ring"], report["large_ring"]
    assert large["dram_write_gbytes_per_s"] > 5 * small["dram_write_gbytes_per_s"]
    words = " ".join(told.split())
    assert f"{small['pcie_write_hit_rate']:.0f} % of the lines that the card writes" in words
    assert f"it leaks. {large['pcie_write_hit_rate']:.0f} % are found" in words
    story = told.partition("The whole run")[0]
    assert max(map(len, story.splitlines())) <= 100
    page = folder / "reports" / "demo" / "report.html"
    assert str(page) in told
    assert "</html>" in page.read_text()


def test_the_next_questions_of_the_demo_are_commands_that_work(
    leak: tuple[Path, str], skipline: Skipline
) -> None:
    offered = leak[1].split("Next:\n")[1].splitlines()
    commands = [shlex.split(line.partition("skipline ")[2]) for line in offered]
    assert [command[0] for command in commands] == ["run", "run", "init"]
    for command in commands[:2]:
        done = skipline(*command, "--set", "run.batch_packets=1024", "--set", "run.max_batches=10")
        assert done.code == 0, done.err


def test_a_folder_that_takes_no_page_costs_the_page_alone(
    short_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reports").write_text("a file")
    stored = result.parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)
    assert write_page(stored) is None
    assert "no page was written" in capsys.readouterr().err


def test_the_leak_has_no_round_trips(skipline: Skipline) -> None:
    assert skipline("demo", "leak", "--messages", "20000").code == 2
