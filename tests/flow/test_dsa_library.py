"""Programs in Python get from `skipline.dsa` what they asked for: from the CPU, and from devices.

The last test runs all others below `skipline-dsa run`, where they use devices.
"""

import os
import subprocess
import sys
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest

import built
from command_line import REPOSITORY

pytest.importorskip("skipline.dsa", exc_type=ImportError)
from skipline.dsa import (
    Client,
    DsaError,
    InputError,
    Operation,
    Outcome,
    Tags,
    as_ended,
)

ON_DEVICES = "SKIPLINE_TEST_ON_DEVICES" in os.environ
PATH: Literal["device", "cpu"] = "device" if ON_DEVICES else "cpu"
DATA = bytes((i * 131 + i // 256 * 7 + 7) % 256 for i in range(16384))


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as opened:
        yield opened


def done(client: Client, operation: Operation) -> Outcome:
    """Run an operation where this test is about, and nowhere else."""
    outcome = client.run(operation, path=PATH)
    others = outcome.cpu_bytes if ON_DEVICES else outcome.device_bytes
    assert (outcome.device_bytes + outcome.cpu_bytes, others) == (operation.bytes, 0)
    return outcome


def test_bytes_are_copied_filled_and_compared(client: Client) -> None:
    copied, also = bytearray(len(DATA)), bytearray(len(DATA) + 8)
    assert done(client, Operation.copy(DATA, copied).to_cache()).answer == "done"
    assert copied == DATA
    done(client, Operation.copy(DATA, memoryview(also)[8:]))
    assert also[8:] == DATA
    assert done(client, Operation.compare(DATA, copied)).answer == "equal"
    copied[9999] ^= 1
    differs = client.run(Operation.compare(DATA, copied), path=PATH)
    assert (differs.answer, differs.value) == ("differs", 9999)
    done(client, Operation.fill(copied, 0x0807060504030201))
    assert copied == bytes(range(1, 9)) * 2048
    assert done(client, Operation.compare_pattern(copied, 0x0807060504030201)).answer == "equal"
    done(client, Operation.flush(copied))


def test_arrays_of_any_type_are_buffers(client: Client) -> None:
    numbers, others = array("d", range(1000)), array("d", bytes(8000))
    done(client, Operation.copy(numbers, others))
    assert numbers == others


def test_checksums_are_the_published_ones(client: Client) -> None:
    assert done(client, Operation.crc(b"123456789")).value == 0xE3069283
    first = done(client, Operation.crc(DATA[:5000])).value
    assert first is not None
    copied = bytearray(len(DATA) - 5000)
    both = done(client, Operation.copy_crc(DATA[5000:], copied, first))
    assert both.value == done(client, Operation.crc(DATA)).value
    assert copied == DATA[5000:]
    wide = client.run(Operation.crc(b"123456789", wide=True), path="cpu")
    assert wide.value == 0xAE8B14860A799888


def test_differences_are_recorded_and_applied(client: Client) -> None:
    original, record = memoryview(DATA)[:8192], bytearray(200)
    changed = bytearray(original)
    changed[8] ^= 1
    changed[4000] ^= 1
    delta = done(client, Operation.create_delta(original, changed, record))
    assert (delta.answer, delta.value, delta.is_cut) == ("delta", 20, False)
    restored = bytearray(original)
    done(client, Operation.apply_delta(record[: delta.value], restored))
    assert restored == changed


def test_protection_information_is_inserted_checked_and_stripped(client: Client) -> None:
    tags, others = Tags(reference=77, application=0x1234), Tags(reference=1000)
    protected, updated, plain = bytearray(4 * 520), bytearray(4 * 520), bytearray(2048)
    done(client, Operation.dif_insert(DATA[:2048], protected, tags))
    assert protected[518:520] == b"\0\x4d"
    done(client, Operation.dif_check(protected, tags))
    done(client, Operation.dif_update(protected, updated, tags, others))
    done(client, Operation.dif_strip(updated, plain, others))
    assert plain == DATA[:2048]
    protected[523] ^= 1
    wrong = client.run(Operation.dif_check(protected, tags), path=PATH)
    assert (wrong.answer, wrong.value, wrong.dif_status) == ("protection", 520, 1)
    apart = bytearray(32)
    client.run(Operation.dix_generate(DATA[:2048], apart, tags))
    assert apart[7] == 77 and apart[15] == 78


def test_two_destinations_are_written_at_once(client: Client) -> None:
    memory = bytearray(3 * 4096)
    view = memoryview(memory)
    done(client, Operation.dualcast(DATA[:1000], view[:1000], view[8192:9192]))
    assert memory[:1000] == memory[8192:9192] == DATA[:1000]


def test_jobs_keep_their_buffers_and_end_in_any_order(client: Client) -> None:
    destinations = [bytearray(len(DATA)) for _ in range(20)]
    jobs = [client.submit(Operation.copy(bytes(DATA), to), path=PATH) for to in destinations]
    assert len(list(as_ended(jobs))) == 20
    assert all(to == DATA for to in destinations)
    job = client.submit(Operation.copy(DATA, destinations[0]), path=PATH)
    outcome = job.wait(timeout_s=60)
    assert outcome.answer == "done" and job.has_ended()
    again = job.poll()
    assert again is not None and again.record == outcome.record
    # What has ended holds no buffer any more.
    destinations[0].append(1)


def test_a_job_that_is_dropped_leaves_its_buffers_to_the_device(client: Client) -> None:
    destination = bytearray(len(DATA))
    client.submit(Operation.copy(DATA, destination), path=PATH)
    client.run(Operation.copy(DATA, bytearray(len(DATA))), path=PATH)
    assert len(destination) == len(DATA)


def test_lists_run_in_the_order_of_their_fences(client: Client) -> None:
    steps = [bytearray(4096) for _ in range(4)]
    operations = [Operation.copy(DATA[:4096], steps[0])]
    operations += [Operation.copy(a, b) for a, b in pairwise(steps)]
    job = client.submit_batch(operations, path=PATH, behind_fence=[1, 2, 3])
    ends = job.wait(timeout_s=60)
    assert [isinstance(end, Outcome) for end in ends] == [True] * 4
    assert steps[3] == DATA[:4096]


def test_statistics_say_who_did_what_and_why() -> None:
    with Client(synchronous_bytes=5000, asynchronous_bytes=0) as client:
        client.run(Operation.copy(DATA[:100], bytearray(100)))
        client.run(Operation.copy(DATA, bytearray(len(DATA))))
        statistics = client.statistics()
        reasons, queues = statistics["reasons"], client.queues()
        assert isinstance(reasons, dict)
        assert reasons["below the threshold"] == (1, 100)
        side = statistics["device" if ON_DEVICES else "cpu"]
        assert isinstance(side, dict) and side["memory move"][1] >= len(DATA)
        assert client.thresholds()["copy"] == (5000, 0)
        assert [queue["name"] for queue in queues] == (["wq0.0", "wq0.1"] if ON_DEVICES else [])
        assert client.left_out() == []


def test_bad_input_is_named(tmp_path: Path) -> None:
    with Client(environment=False) as client:
        for wrong, words in (
            (lambda: Operation.copy(DATA, bytearray(1)), "`destination` has 1 bytes; 16384"),
            (lambda: Operation.copy(DATA, bytes(16384)), "`destination`: it is read-only"),
            (lambda: Operation.copy(5, bytearray(1)), "`source`: a buffer is needed"),  # type: ignore[arg-type]
            (lambda: Operation.copy(memoryview(DATA)[::2], bytearray(9000)), "not contiguous"),
            (lambda: Operation.compare(b"1", b"22"), "have to be equally long"),
            (lambda: Operation.fill(bytearray(9), 1 << 64), "wide=True"),
            (lambda: Operation.dif_check(DATA, Tags(), block=100), "`block` = 100; allowed: 512"),
            (lambda: client.run(Operation.copy(b"", bytearray(1))), "the size is 0"),
            (lambda: client.run(Operation.copy(DATA, bytearray(16384)), path="gpu"), "`path` ="),  # type: ignore[arg-type]
            (lambda: client.submit_batch([]), "`operations` is empty"),
            (lambda: Client(["wq9.9"]), "wq9.9: no such work queue"),
            (lambda: Client(thresholds=tmp_path / "none.toml"), "none.toml"),
        ):
            with pytest.raises(InputError, match=words):
                wrong()
        misaligned = Operation.create_delta(DATA[1:9], DATA[1:9], memoryview(bytearray(200))[1:])
        with pytest.raises(DsaError, match="multiples of 8") as refused:
            client.run(misaligned)
        assert refused.value.errno is not None
        if not ON_DEVICES:
            with pytest.raises(DsaError, match="no work queue is open"):
                client.run(Operation.copy(DATA, bytearray(16384)), path="device")
    with pytest.raises(InputError, match="the client is closed"):
        client.statistics()


def test_a_child_of_a_fork_gets_the_same_from_the_cpu(client: Client) -> None:
    copied = bytearray(len(DATA))
    job = client.submit(Operation.copy(DATA, copied), path=PATH)
    job.wait()
    child = os.fork()
    if child == 0:  # no clean-up of the test's parent
        copied[:] = bytes(len(DATA))
        outcome = client.run(Operation.copy(DATA, copied))
        os._exit(int(copied != DATA or outcome.cpu_bytes != len(DATA)))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_where_there_is_no_such_module_the_import_says_so() -> None:
    elsewhere = (
        "import sys, types; core = types.ModuleType('skipline._core');"
        "core.InputError = core.RunError = Exception; core.version = lambda: '';"
        "sys.modules['skipline._core'] = core; import skipline, skipline.dsa"
    )
    command = [sys.executable, "-c", elsewhere]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith("skipline.dsa is only available on Linux on x86-64\n")


@pytest.mark.skipif(ON_DEVICES, reason="this is the run below it")
def test_all_of_this_holds_on_devices(tmp_path: Path) -> None:
    environment = os.environ | {"SKIPLINE_TEST_ON_DEVICES": "1", "XDG_RUNTIME_DIR": str(tmp_path)}
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [
            *(built.directory() / "skipline-dsa", "run", "--quiet", "--part", "generous", "--"),
            *(*tests, __file__),
        ],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "13 passed, 1 skipped" in done.stdout
