"""Does advice without a recommendation say whether nothing is better, or the time was too short?"""

import pytest

from skipline.advice import view
from skipline.advice.advice import Advice, Effort
from skipline.advice.goal import Goal, Target

UNDONE = ["the search, which the time ended at 2 settings"]


def advice(tried: int, undone: list[str]) -> Advice:
    effort = Effort(tried, 0, 49, 0, 5, "settled runs", undone)
    target = Target(Goal.P99, (), 1, (), ("throughput_gbps",))
    return Advice(target, (), None, [], [], [], [], [], [], effort)


@pytest.mark.parametrize(
    ("tried", "undone", "begins"),
    [
        (0, UNDONE, "The time did not suffice to try one setting for p99"),
        (2, UNDONE, "The time did not suffice to tell. No setting that was tried is better"),
        (49, [], "No setting that was tried is better than the present ones for p99"),
    ],
)
def test_the_first_sentence_says_whether_the_time_sufficed(
    tried: int, undone: list[str], begins: str
) -> None:
    assert view.sentence(advice(tried, undone)).startswith(begins)
