"""Does a long command say so, and that it is alive, also where nobody watches a terminal?"""

import random
import time

import pytest

from skipline.sweeps.runner import Pace
from skipline.text import terminal


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def test_the_first_line_says_how_long_and_then_there_is_one_every_ten_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal.progress_bar("sweep", lines=True) as bar:
        for second in range(1, 36):
            clock[0] = float(second)
            bar.update(second / 200, f"{second} of 200 points")
    assert lines(capsys) == [
        "sweep: takes about 3 min",
        "sweep: 10 s, 5 %, 10 of 200 points, about 3 min left",
        "sweep: 20 s, 10 %, 20 of 200 points, about 3 min left",
        "sweep: 30 s, 15 %, 30 of 200 points, about 3 min left",
    ]


def test_the_time_of_the_start_is_not_taken_for_that_of_the_work(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal.progress_bar("sweep", lines=True) as bar:
        clock[0] = 9.0  # until the first point: libraries, a plan
        for point in range(1, 61):
            clock[0] += 1.0
            bar.update(point / 60)
    assert "sweep: takes about 70 s" in lines(capsys)


def test_a_forecast_rests_on_what_is_done_not_on_what_is_shown(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    # 20 points of 10 s by two workers: 100 s. A run ends where its share is a sixth: it is precise.
    with terminal.progress_bar("sweep", lines=True) as bar:
        bar.update(0.0, "looking at the points, 100%")
        for second in range(1, 31):
            clock[0] = float(second)
            finished, share = divmod(second, 10)
            pace = Pace(2 * (finished + share / 60), 2 * finished, 2)
            bar.reckon(pace.known / 20)
            bar.update(pace.simulated / 20, f"{pace.finished} of 20 points")
    shown = lines(capsys)
    # Nothing is forecast before points are finished: by their shares it were ten minutes.
    assert shown[0] == "sweep: takes about 2 min"
    assert shown[1:] == [
        "sweep: 10 s, 10 %, 2 of 20 points, about 80 s left",
        "sweep: 20 s, 20 %, 4 of 20 points, about 80 s left",
        "sweep: 30 s, 30 %, 6 of 20 points, about 70 s left",
    ]


def test_the_first_forecast_is_near_what_it_takes() -> None:
    generator = random.Random(1)
    ratios = []
    for _ in range(200):
        workers, points = generator.randint(1, 8), generator.randint(30, 60)
        ends, times = [0.0] * workers, []
        for _ in range(points):
            first = ends.index(min(ends))
            ends[first] += generator.uniform(4.0, 16.0)
            times.append(ends[first])
        paces = [(end, Pace(0.0, at, workers)) for at, end in enumerate(sorted(times), start=1)]
        now, pace = next((now, pace) for now, pace in paces if pace.known)
        ratios.append(now * points / pace.known / max(ends))
    assert min(ratios) > 0.5 and max(ratios) < 2.0
    assert 0.9 < sum(ratios) / len(ratios) < 1.25


def test_what_is_known_before_is_said_at_once(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with terminal.progress_bar("advise", lines=True) as bar:
        bar.expect(30.0)
        bar.update(0.0, "0 settings tried")
    assert clock[0] == 0
    assert lines(capsys) == ["advise: takes about 30 s"]


def test_what_is_short_or_does_not_ask_for_lines_says_nothing(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    for wants_lines, share in ((True, 0.5), (False, 0.01)):
        clock[0] = 0.0
        with terminal.progress_bar("run", lines=wants_lines) as bar:
            for second in range(1, 5):
                clock[0] = float(second)
                bar.update(share * second / 2)
    assert lines(capsys) == []
