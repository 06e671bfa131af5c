"""The choice among results of one task where the judge gives no answer."""

import pytest

from orchestrator.domain.ids import TaskId
from orchestrator.engine.goal.rival_choice import choose_without_judge
from orchestrator.ports.roles import RivalCandidate


def candidate(name: str, flags: int, lines: int) -> RivalCandidate:
    return RivalCandidate(task=TaskId(name), flags=("a remark",) * flags, lines=lines)


@pytest.mark.parametrize(
    ("first", "second", "chosen"), [((1, 10), (0, 90), "b"), ((1, 90), (1, 10), "b"), ((1, 10), (1, 10), "a")]
)
def test_the_fewest_flags_win_then_the_smallest_change_then_the_order_of_the_plan(
    first: tuple[int, int], second: tuple[int, int], chosen: str
) -> None:
    ruling = choose_without_judge([candidate("a", *first), candidate("b", *second)])
    assert (ruling.chosen, ruling.model) == (chosen, "")
    assert ruling.reasons[0] == "the judge gave no answer that could be read"
