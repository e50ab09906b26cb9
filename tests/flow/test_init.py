"""`skipline init` makes a scenario that runs of six answers, or says what is wrong with one."""

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import SHORT, Skipline
from skipline import InputError, _core
from skipline.scenarios.questionnaire import QUESTIONS, Answers, cards

DEFAULTS = "\n" * 6
OWN = "skylake-gold-6140\nconnectx-6\n4\n1024\n50\n512\n"


def init(directory: Path, answers: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "skipline", "init", *arguments]
    return subprocess.run(
        command, cwd=directory, input=answers, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("answers", [DEFAULTS, OWN, OWN.rstrip("\n"), OWN.replace("\n", "\r\n")])
def test_six_answers_make_a_scenario_that_runs(skipline: Skipline, answers: str) -> None:
    done = init(skipline.directory, answers)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote my-server.toml\nnext: skipline run my-server.toml\n"
    assert skipline("run", "my-server.toml", *SHORT).code == 0


def test_the_scenario_states_what_was_answered(tmp_path: Path) -> None:
    assert init(tmp_path, OWN, "mine.toml").returncode == 0
    stated = tomllib.loads((tmp_path / "mine.toml").read_text())
    assert stated["platform"] == "skylake-gold-6140"
    assert stated["nic"] == "connectx-6"
    assert (stated["cores"], stated["packet_bytes"]) == (4, 1024)
    assert (stated["offered_gbps"], stated["rx_descriptors"]) == (50, 512)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ("haswell\n", "answer 1 (platform): 'haswell' is neither a known platform"),
        ("three-level-lru\n", "a platform that serves packets needs it"),
        ("\nconnectx\n", "answer 2 (nic): 'connectx' is neither a known card (did you mean"),
        ("\n\nfour\n", "answer 3 (cores): 'four' is not a whole number"),
        ("\n\n400\n", "answer 3 (cores): `cores` = 400: allowed: 1 to 18 cores"),
        ("\n\n4\n20\n", "answer 4 (packet_bytes): `packet_bytes` = 20: allowed: 60 to 2048"),
        ("\n\n4\n64\n-3\n", "answer 5 (offered_gbps): `offered_gbps` = -3: allowed"),
        ("\n\n4\n64\nnan\n", "answer 5 (offered_gbps)"),
        ("\n\n4\n64\n10\n100\n", "answer 6 (rx_descriptors): `rx_descriptors` = 100: allowed: 8,"),
        ("\n\n18\n64\n10\n4096\n", "lower rx_descriptors or cores, or raise pool_buffers"),
        ("\n\n4\n", "answer 4 is missing: How large is a packet, in bytes?"),
        (f"{OWN}more\n", "there are 6 questions; what is 'more' for?"),
        ("\x1b[2J\n", "answer 1 (platform)"),
    ],
)
def test_nonsense_is_refused_in_a_sentence_and_nothing_is_written(
    tmp_path: Path, answers: str, told: str
) -> None:
    done = init(tmp_path, answers)
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert told in sentence
    assert "\x1b" not in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_only_if_one_asks_for_it(tmp_path: Path) -> None:
    known = tmp_path / "my-server.toml"
    known.write_text("kept")
    done = init(tmp_path, OWN)
    assert done.returncode == 2
    assert "this file exists and was left as it is" in done.stderr
    assert known.read_text() == "kept"
    assert init(tmp_path, "nonsense\n", "--replace").returncode == 2
    assert known.read_text() == "kept"
    done = init(tmp_path, OWN, "--replace")
    assert done.stdout.startswith("replaced my-server.toml\n")
    assert tomllib.loads(known.read_text())["cores"] == 4


def test_a_link_to_nowhere_is_a_file_that_exists(tmp_path: Path) -> None:
    (tmp_path / "my-server.toml").symlink_to(tmp_path / "elsewhere.toml")
    assert init(tmp_path, OWN).returncode == 2
    assert not (tmp_path / "elsewhere.toml").exists()


def test_another_scenario_may_be_the_beginning(skipline: Skipline) -> None:
    done = skipline("init", "mine.toml", "--from", "examples/large-ring.toml")
    assert done.code == 0, done.err
    text = (skipline.directory / "mine.toml").read_text()
    assert text == _core.builtin_file("examples/large-ring.toml")
    broken = skipline.directory / "broken.toml"
    broken.write_text(text.replace("rx_descriptors", "rx_descriptor"))
    done = skipline("init", "other.toml", "--from", "broken.toml")
    assert done.code == 2
    assert "did you mean `rx_descriptors`" in done.err
    assert not (skipline.directory / "other.toml").exists()


def test_files_are_named_as_seen_from_the_scenario(skipline: Skipline) -> None:
    platform = _core.builtin_file("platforms/haswell-e5-2667v3.toml")
    assert platform is not None
    (skipline.directory / "node7.toml").write_text(platform)
    (skipline.directory / "below").mkdir()
    done = init(skipline.directory, "node7.toml\n\n2\n64\n10\n128\n", "below/mine.toml")
    assert done.returncode == 0, done.stderr
    stated = tomllib.loads((skipline.directory / "below" / "mine.toml").read_text())
    assert stated["platform"] == "../node7.toml"
    assert skipline("run", "below/mine.toml", *SHORT).code == 0


def test_a_terminal_is_asked_again(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "skipline", "init"]
    os.write(ours, b"\n\nmany\n2\n\n\n\n")
    done = subprocess.run(
        command, cwd=tmp_path, stdin=theirs, capture_output=True, text=True, check=False
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("How many cores forward packets? [1]") == 2
    assert "'many' is not a whole number" in done.stderr
    assert tomllib.loads((tmp_path / "my-server.toml").read_text())["cores"] == 2


NUMBERS = st.one_of(
    st.integers(-5, 70_000).map(str), st.sampled_from(["64", "256", "1", "0.5", "1e400", "99"])
)
FITTING = {
    "platform": "skylake-gold-6140",
    "nic": "own",
    "cores": "1",
    "packet_bytes": "1500",
    "offered_gbps": "1",
    "rx_descriptors": "64",
}
ANSWERS = st.tuples(
    st.one_of(st.sampled_from(["", *_core.platform_names()]), st.text(max_size=8)),
    st.one_of(st.sampled_from(["", "own", *cards()]), st.text(max_size=8)),
    *[st.one_of(st.just(""), NUMBERS, st.text(max_size=6))] * 4,
)


@settings(max_examples=60, deadline=None)
@given(ANSWERS)
def test_any_answers_make_a_scenario_or_an_error_for_people(answers: tuple[str, ...]) -> None:
    given_so_far = Answers(Path("mine.toml"))
    for question, answer in zip(QUESTIONS, answers, strict=True):
        try:
            given_so_far.give(question, answer)
        except InputError as error:
            assert str(error)
            given_so_far.give(question, FITTING[question.key])
    stated = tomllib.loads(given_so_far.text())
    assert {"platform", "cores", "packet_bytes", "offered_gbps", "rx_descriptors"} <= set(stated)
