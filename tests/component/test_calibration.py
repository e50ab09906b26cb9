"""Calibration: does it choose what the data say, and does it say how sure they are?"""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import REPOSITORY
from skipline import InputError
from skipline.calibrate import bench, numbers, search, validation
from skipline.calibrate.definition import Calibration, Judged
from skipline.calibrate.numbers import Errors, Measurement, Target
from skipline.calibrate.search import Candidate, Tried
from skipline.experiment.points import Point
from skipline.experiment.runner import Finished
from skipline.runs.result import parse
from skipline.runs.run_command import RESULT_FILE
from skipline.store import kept_results
from skipline.text import toml_model

TEXT = """
title = "t"
question = "q"
platform = "p"
experiments = ["e"]
trials = 6
folds = 3
[[judged]]
metric = "m"
error = "points"
[[hypothesis]]
name = "colour"
question = "which?"
[[hypothesis.choice]]
name = "red"
[[hypothesis.choice]]
name = "blue"
set = { key = 1 }
[[hypothesis]]
name = "shape"
question = "which?"
[[hypothesis.choice]]
name = "round"
[[hypothesis.choice]]
name = "square"
[[parameter]]
key = "size"
low = 0
high = 10
start = 1
whole = true
"""


@pytest.fixture
def calibration() -> Calibration:
    return toml_model.load(Calibration, TEXT, "a.toml")


def measurement(number: int) -> Measurement:
    judged = Judged(metric="m", error="points")
    return Measurement("e", f"place {number}", judged, fits=True, measured=50.0)


NUMBERS = [measurement(number) for number in range(6)]


def world(candidate: Candidate) -> Errors:
    """Blue squares of size 7 are right; each thing that is wrong costs."""
    wrong = 5.0 * (candidate.choices["colour"] != "blue")
    wrong += 2.0 * (candidate.choices["shape"] != "square")
    wrong += abs(candidate.parameters["size"] - 7)
    return {number: wrong + 0.1 * index for index, number in enumerate(NUMBERS)}


def test_the_search_finds_the_answers_that_the_data_prefer(calibration: Calibration) -> None:
    tried = search.search(calibration, world)
    assert tried[0].candidate.choices == {"colour": "blue", "shape": "square"}
    start = next(entry for entry in tried if entry.candidate == search.start(calibration))
    assert tried[0].score < start.score - 6
    assert [entry.score for entry in tried] == sorted(entry.score for entry in tried)


def test_the_search_tries_nothing_twice_and_is_deterministic(calibration: Calibration) -> None:
    seen: list[str] = []

    def evaluate(candidate: Candidate) -> Errors:
        seen.append(candidate.label)
        return world(candidate)

    first = search.search(calibration, evaluate)
    assert len(seen) == len(set(seen))
    assert [e.candidate for e in first] == [e.candidate for e in search.search(calibration, world)]


def test_a_candidate_s_settings_are_those_of_its_answers(calibration: Calibration) -> None:
    candidate = Candidate({"colour": "blue", "shape": "round"}, {"size": 3})
    assert candidate.settings(calibration) == {"key": 1, "size": 3}


def test_each_fold_is_chosen_without_its_own_numbers(calibration: Calibration) -> None:
    choices = {"colour": "red", "shape": "round"}
    # One candidate is right at the first point only, the other everywhere else.
    odd = {number: 0.0 if index == 0 else 9.0 for index, number in enumerate(NUMBERS)}
    even = {number: 9.0 if index == 0 else 0.0 for index, number in enumerate(NUMBERS)}
    tried = [
        Tried(Candidate(choices, {"size": 1}), odd),
        Tried(Candidate(choices, {"size": 2}), even),
    ]
    folds = validation.folds(calibration, tried)
    assert len(folds) == 3
    assert {fold.chosen for fold in folds} == {"red, round, 2"}
    assert [fold.error_left_out for fold in folds] == [4.5, 0.0, 0.0]


def test_a_kind_of_point_is_left_out_whole(calibration: Calibration) -> None:
    choices = {"colour": "red", "shape": "round"}
    kinds = [("cores = 1",), ("cores = 1",), ("cores = 2",), ("cores = 2",), ("cores = 2",), ()]
    of_kind = [replace(n, kinds=kind) for n, kind in zip(NUMBERS, kinds, strict=True)]
    # Good on one core and bad on two, which an eighth of the points at random would hide.
    one = {n: 0.0 if n.kinds == ("cores = 1",) else 9.0 for n in of_kind}
    even = dict.fromkeys(of_kind, 4.0)
    tried = [
        Tried(Candidate(choices, {"size": 1}), one),
        Tried(Candidate(choices, {"size": 2}), even),
    ]
    by_cores = calibration.model_copy(update={"leave_out": ["cores"]})
    folds = validation.folds(by_cores, tried)
    assert [(fold.left_out, fold.numbers) for fold in folds] == [("cores = 1", 2), ("cores = 2", 3)]
    assert [fold.chosen for fold in folds] == ["red, round, 2", "red, round, 1"]
    assert [fold.error_left_out for fold in folds] == [4.0, 9.0]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ('leave_out = ["croes"]', "leave_out = 'croes': all points that choose are alike in it"),
        ('leave_out = ["cores", "cores"]', "'cores' is stated twice"),
        ('leave_out = ["cores"]\nfolds = 4', "exclude each other"),
    ],
)
def test_a_kind_that_leaves_nothing_out_is_refused(wrong: str, words: str) -> None:
    text = (REPOSITORY / "experiments/calibration/gold-6140.toml").read_text()
    text = text.replace('leave_out = ["experiment", "cores"]', wrong)
    with pytest.raises(InputError, match=words):
        asked = toml_model.load(Calibration, text, "a.toml")
        bench.check(asked, numbers.targets(asked), "a.toml")


def test_a_rejected_answer_names_the_numbers_that_reject_it() -> None:
    best, other = ({"colour": c, "shape": "round"} for c in ("blue", "red"))
    right = dict.fromkeys(NUMBERS, 1.0)
    wrong = {**right, NUMBERS[4]: -8.0}
    chosen = Tried(Candidate(best, {}), right)
    entry = Tried(Candidate(other, {}), wrong)
    answer = validation.answer("colour", entry, chosen, {}, [])
    assert not answer.is_chosen
    assert [telling.number for telling in answer.telling] == [NUMBERS[4].label]
    assert answer.telling[0].error_of_other == -8.0
    assert validation.answer("colour", chosen, chosen, {}, []).telling == []


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=6), st.floats(0.1, 10))
def test_the_score_is_a_mean_that_weights_alike_do_not_move(
    values: list[float], weight: float
) -> None:
    judged = Judged(metric="m", error="points", weight=weight)
    errors = {
        Measurement("e", str(index), judged, fits=True, measured=1.0): value
        for index, value in enumerate(values)
    }
    mean = sum(map(abs, values)) / len(values)
    assert numbers.score(errors) == pytest.approx(mean)


def test_errors_are_in_points_or_in_percent_of_the_measured() -> None:
    percent = Judged(metric="m", error="percent")
    assert Measurement("e", "p", percent, fits=True, measured=80.0).error(84.0) == pytest.approx(5)
    assert measurement(0).error(48.0) == -2.0
    assert math.isnan(numbers.score({}))


def test_a_simulated_number_that_is_none_is_named(short_run: Path) -> None:
    result = parse((short_run / RESULT_FILE).read_text(), RESULT_FILE)
    judged = Judged(metric="ipc", error="points")
    number = Measurement("e", "p", judged, fits=True, measured=1.0)
    point = Point({}, "", {}, "fitted", {})
    done = [Finished(point, [kept_results.from_result(result)])]
    with pytest.raises(InputError, match="e: p: ipc: has no value"):
        numbers.errors([Target("e", point, (number,))], done)
    mistyped = replace(number, judged=Judged(metric="throughput_gbp", error="points"))
    with pytest.raises(InputError, match="did you mean 'throughput_gbps'"):
        numbers.errors([Target("e", point, (mistyped,))], done)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("start = 1", "start = 11", "start = 11.0 must lie between"),
        ('name = "blue"', 'name = "red"', "choice 'red' is stated twice"),
        ('name = "shape"', 'name = "colour"', "'colour' is stated twice"),
        ("folds = 3", "fold = 3", "key 'fold': unknown"),
        ('error = "points"', 'error = "feet"', "'points' or 'percent'"),
    ],
)
def test_a_faulty_calibration_is_refused_by_name(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        toml_model.load(Calibration, TEXT.replace(old, new, 1), "a.toml")


def test_every_answer_of_the_repository_s_calibration_is_taken_by_the_core() -> None:
    from skipline import resources
    from skipline.calibrate import bench

    path = "experiments/calibration/gold-6140.toml"
    calibration = toml_model.load(Calibration, resources.read_text(path), path)
    targets = numbers.targets(calibration)
    assert any(target.fits for target in targets)
    assert not all(target.fits for target in targets)
    bench.check(calibration, targets, path)


def test_an_answer_that_the_core_refuses_is_named(tmp_path: Path) -> None:
    from skipline import resources
    from skipline.calibrate import bench

    path = "experiments/calibration/gold-6140.toml"
    text = resources.read_text(path).replace('"hardware.llc.replacement" = "nru"', '"coers" = 1')
    calibration = toml_model.load(Calibration, text, str(tmp_path / "a.toml"))
    with pytest.raises(InputError, match=r"candidate 'NRU'.*unknown key `coers`"):
        bench.check(calibration, numbers.targets(calibration), "a.toml")
