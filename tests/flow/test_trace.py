"""What a user gets from `skipline trace`, from good traces and from others."""

import array
import gzip
import random
import subprocess
from pathlib import Path

import pytest

from command_line import REPOSITORY, Skipline

LINE_BYTES = 64
REFERENCE = "three-level-lru"
L1_LINES = 512


def write_raw64(path: Path, addresses: list[int]) -> str:
    path.write_bytes(array.array("Q", addresses).tobytes())
    return path.name


@pytest.fixture
def sequential(tmp_path: Path) -> str:
    """Twice over a range of twice the L1."""
    lines = 2 * L1_LINES
    return write_raw64(tmp_path / "seq.raw64", [LINE_BYTES * (i % lines) for i in range(2 * lines)])


def test_json_has_the_promised_names_and_the_counts_of_a_sequence(
    skipline: Skipline, sequential: str
) -> None:
    done = skipline("trace", sequential, "--machine", REFERENCE, "--format", "json")
    assert done.code == 0, done.err
    lines = 2 * L1_LINES
    assert done.json["accesses"] == 2 * lines
    assert done.json["wall_s"] > 0
    levels = {level["name"]: level for level in done.json["levels"]}
    assert list(levels) == ["L1", "L2", "L3"]
    counts = {
        name: (level["hits"], level["misses"], level["writebacks"])
        for name, level in levels.items()
    }
    # LRU misses a cyclic sequence that is larger than the cache; L2 holds it the second time.
    assert counts == {"L1": (0, 2 * lines, 0), "L2": (lines, lines, 0), "L3": (0, lines, 0)}


def test_a_trace_runs_through_any_platform(skipline: Skipline, sequential: str) -> None:
    listed = skipline("platforms", "list").out
    for platform in ("haswell-e5-2667v3", "skylake-gold-6140", "sapphire-rapids-56"):
        assert platform in listed
        done = skipline("trace", sequential, "--machine", platform, "--format", "json")
        assert done.code == 0, done.err
        l1 = done.json["levels"][0]
        assert l1["hits"] + l1["misses"] == done.json["accesses"]
        assert done.json["memory_lines_read"] >= 2 * L1_LINES


def test_stores_come_back_from_every_level(skipline: Skipline, tmp_path: Path) -> None:
    generator = random.Random(1)
    lines = [generator.randrange(1 << 20) for _ in range(40_000)]
    (tmp_path / "stores.din").write_text("".join(f"1 {LINE_BYTES * line:x}\n" for line in lines))
    done = skipline("trace", "stores.din", "--machine", REFERENCE, "--format", "json")
    assert done.code == 0, done.err
    l1, l2, _ = done.json["levels"]
    assert l1["writebacks"] > 30_000 and l2["writebacks"] > 10_000
    assert l1["references"]["store"]["misses"] == l1["misses"]


def test_the_kinds_of_misses_add_up(skipline: Skipline, tmp_path: Path) -> None:
    generator = random.Random(2)
    addresses = [LINE_BYTES * int(generator.paretovariate(0.4)) % (1 << 26) for _ in range(30_000)]
    trace = write_raw64(tmp_path / "skewed.raw64", addresses)
    arguments = ("--machine", REFERENCE, "--explain", "--format", "json")
    done = skipline("trace", trace, *arguments)
    assert done.code == 0, done.err
    for level in done.json["levels"]:
        kinds = level["miss_kinds"]
        misses = kinds["compulsory"] + kinds["capacity"] + kinds["conflict"]
        assert misses + kinds["invalidated"] == level["misses"]
        assert kinds["hits"] == level["hits"]
    distinct = len({address // LINE_BYTES for address in addresses})
    assert done.json["levels"][0]["miss_kinds"]["compulsory"] == distinct


def test_a_compressed_trace_from_standard_input_counts_the_same(
    skipline: Skipline, sequential: str
) -> None:
    plain = skipline("trace", sequential, "--machine", REFERENCE, "--format", "csv")
    packed = gzip.compress((skipline.directory / sequential).read_bytes())
    arguments = ("trace", "-", "--machine", REFERENCE, "--trace-format", "raw64")
    piped = subprocess.run(
        skipline.arguments(*arguments, "--format", "csv"),
        input=packed,
        capture_output=True,
        check=False,
    )
    assert piped.returncode == 0, piped.stderr
    assert piped.stdout.decode() == plain.out
    assert plain.out.splitlines()[0] == "level,hits,misses,writebacks"


def test_a_closed_standard_input_is_told(skipline: Skipline) -> None:
    command = skipline.arguments("trace", "-", "--machine", REFERENCE, "--trace-format", "din")
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: trace '-'"), done.stderr


def test_people_get_a_table(skipline: Skipline, sequential: str) -> None:
    done = skipline("trace", sequential, "--machine", REFERENCE, "--explain")
    assert done.code == 0, done.err
    for expected in ("write-backs", "Why lines missed", "compulsory", "line operations"):
        assert expected in done.out


def test_time_is_told_to_those_who_ask_and_changes_no_count(
    skipline: Skipline, sequential: str
) -> None:
    arguments = ("trace", sequential, "--machine", REFERENCE)
    plain = skipline(*arguments, "--format", "json").json
    timed = skipline(*arguments, "--timed", "--format", "json").json
    assert "simulated_ns" not in plain and "real_time_factor" not in plain
    # Each of the misses of L1 takes its time, one after another.
    assert timed["simulated_ns"] > 2 * L1_LINES * 14 / 3
    factor = timed["simulated_ns"] / 1e9 / timed["wall_s"]
    assert timed["real_time_factor"] == pytest.approx(factor, rel=1e-9)
    for key in ("levels", "accesses", "memory_lines_read", "memory_lines_written", "line_ops"):
        assert timed[key] == plain[key]
    for result in (plain, timed):
        rate = result["line_ops"] / result["wall_s"]
        assert result["line_ops_per_s"] == pytest.approx(rate, rel=1e-9)
    assert "simulated seconds per second" in skipline(*arguments, "--timed").out


def test_a_standard_trace_needs_no_file_and_has_its_machine(skipline: Skipline) -> None:
    done = skipline("trace", "--standard", "4mib-random", "--format", "json")
    assert done.code == 0, done.err
    assert (done.json["trace"], done.json["machine"]) == ("4mib-random", REFERENCE)
    hits = [level["hits"] for level in done.json["levels"]]
    assert [*hits, done.json["memory_lines_read"]] == [77_824, 2_420_876, 7_435_764, 65_536]
    assert done.json["line_ops"] == 10_000_000


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "FILE: missing"),
        (["t.raw64"], "--machine: missing"),
        (["t.raw64", "--machine", REFERENCE, "--standard", "4mib-random"], "leave out FILE"),
        (["--standard", "4mib-random", "--trace-format", "din"], "--trace-format"),
        (["--standard", "4mib"], "64mib-sequential"),
    ],
)
def test_what_is_to_be_replayed_is_said_once(
    skipline: Skipline, arguments: list[str], expected: str
) -> None:
    done = skipline("trace", *arguments)
    assert done.code == 2, done.out
    assert expected in done.err


def test_instructions_without_an_l1i_are_left_out_and_told(
    skipline: Skipline, tmp_path: Path
) -> None:
    (tmp_path / "program.lackey").write_text("I  400000,3\n L 500000,8\nI  400003,2\n")
    done = skipline("trace", "program.lackey", "--machine", REFERENCE)
    assert done.code == 0, done.err
    assert "2 instruction fetches were left out" in done.out


@pytest.mark.parametrize(
    ("name", "content", "arguments", "expected"),
    [
        ("absent.din", None, [], "cannot be opened"),
        ("empty.din", b"", [], "holds no references"),
        ("bad.din", b"0 10\n7 zz\n", [], "line 2"),
        ("short.raw64", b"1234567", [], "short.raw64"),
        ("unknown", b"\x00\x01", [], "--trace-format"),
        ("good.din", b"0 10\n", ["--machine", "nonesuch"], "no such platform"),
        ("good.din", b"0 10\n", ["--trace-format", "elf"], "champsim"),
    ],
)
def test_what_is_wrong_is_said_and_the_exit_code_is_two(
    skipline: Skipline,
    tmp_path: Path,
    name: str,
    content: bytes | None,
    arguments: list[str],
    expected: str,
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    machine = [] if "--machine" in arguments else ["--machine", REFERENCE]
    done = skipline("trace", name, *machine, *arguments)
    assert done.code == 2, done.out + done.err
    assert expected in done.err
    assert "Traceback" not in done.err


def test_a_machine_file_may_name_a_slice_table(skipline: Skipline, tmp_path: Path) -> None:
    facts = skipline("platforms", "show", "haswell-e5-2667v3", "--format", "json")
    assert facts.code == 0
    (tmp_path / "t.din").write_text("0 40\n0 80\n")
    table = 'part = "a test"\nsource = "this test"\nslices = 8\nvalid_bits = [6, 30]\n'
    table += "perm_masks = [0x1000, 0x2000, 0x4000]\nbase = [0, 1, 2, 3, 4, 5, 6, 7]\n"
    (tmp_path / "slices.toml").write_text(table)
    _machine_with_table(tmp_path, "slices.toml")
    done = skipline("trace", "t.din", "--machine", "machine.toml")
    assert done.code == 0, done.err
    _machine_with_table(tmp_path, "missing.toml")
    done = skipline("trace", "t.din", "--machine", "machine.toml")
    assert done.code == 2
    assert "missing.toml" in done.err


def _machine_with_table(directory: Path, table: str) -> None:
    """Write the Haswell machine with the slice function of a file."""
    facts = 'source = "this test", confidence = "seen"'
    replaced = (
        f'slice_function = {{ value = "table", {facts} }}\n'
        f'slice_table = {{ value = "{table}", {facts} }}'
    )
    text = (REPOSITORY / "platforms" / "haswell-e5-2667v3.toml").read_text()
    lines = [replaced if line.startswith("slice_function") else line for line in text.splitlines()]
    (directory / "machine.toml").write_text("\n".join(lines) + "\n")
