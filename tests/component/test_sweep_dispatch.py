"""Who gets which points: all of them once, in chunks that fit, also when workers die."""

import random

from hypothesis import given
from hypothesis import strategies as st

from skipline.sweeps.dispatch import MOST_DEATHS, Dispatcher, makespan_s


@given(st.integers(0, 300), st.integers(1, 8), st.integers(0, 2**32))
def test_every_point_is_answered_once_whatever_dies(points: int, slots: int, seed: int) -> None:
    generator = random.Random(seed)
    dispatcher = Dispatcher(points, slots)
    answered: list[int] = []
    handed_out: list[int] = []
    deaths = 0
    while not dispatcher.done:
        if len(handed_out) < slots and (taken := dispatcher.take()):
            handed_out.append(taken.number)
            continue
        number = handed_out.pop(generator.randrange(len(handed_out)))
        # Fewer than give any point up.
        if deaths < MOST_DEATHS - 1 and generator.random() < 0.3:
            deaths += 1
            assert dispatcher.record_death(number) == []
            continue
        own = dispatcher.points(number)
        answered += own
        dispatcher.finish(number, [0.01] * len(own))
    assert sorted(answered) == list(range(points))


def test_a_point_that_always_kills_its_worker_is_given_up_and_no_other() -> None:
    dispatcher = Dispatcher(10, 1)
    given_up: list[int] = []
    while not dispatcher.done:
        taken = dispatcher.take()
        assert taken is not None
        if 3 in taken.points:
            given_up += dispatcher.record_death(taken.number)
        else:
            dispatcher.finish(taken.number, [0.01] * len(taken.points))
    assert given_up == [3]


def test_short_points_go_in_chunks_and_long_ones_alone() -> None:
    for seconds, largest in ((0.1, 10), (5.0, 1)):
        dispatcher = Dispatcher(1000, 2)
        sizes = []
        while taken := dispatcher.take():
            sizes.append(len(taken.points))
            dispatcher.finish(taken.number, [seconds] * len(taken.points))
        assert max(sizes) == largest
        assert sizes[0] == sizes[-1] == 1


def test_time_falls_in_proportion_to_workers_up_to_64() -> None:
    generator = random.Random(1)
    times = [generator.uniform(0.1, 0.4) for _ in range(10_000)]
    alone = makespan_s(times, 1)
    for workers in (2, 4, 8, 16, 32, 64):
        assert alone / makespan_s(times, workers) > 0.97 * workers
