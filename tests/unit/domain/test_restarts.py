"""The states that a restart can begin from, and what it makes of a run's state."""

from collections.abc import Sequence

import pytest

from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import LandingFinished, LandingStarted, RewindFinished, RewindStarted
from orchestrator.domain.event.run import IterationStarted
from orchestrator.domain.event.work import PlanningEnded, PlanningStarted
from orchestrator.domain.ids import CommitId, TaskId, TreeId, UnitId
from orchestrator.domain.restart.restart_states import (
    RestartState,
    find_restart_commit,
    format_restart_states,
    list_restart_states,
)
from orchestrator.domain.run.task import Handoff, TaskStatus
from tests.running.goal_events import BASE, created, judged, told, worked

GOOD, BAD = CommitId("a" * 40), CommitId("d" * 40)

NAMES = [f"{number:02}abcdef0123" + "0" * 28 for number in range(12)]
STATES = [RestartState(commit=CommitId(name), tasks=(TaskId(f"t{name[:2]}"),)) for name in NAMES]


@pytest.mark.parametrize(
    ("name", "found"),
    [("", 0), ("base", 0), (NAMES[3][:12], 3), (NAMES[3].upper(), 3), (NAMES[3][:11], None), ("t03", None)],
)
def test_a_state_is_named_by_its_id_or_commit_and_the_base_by_nothing(name: str, found: int | None) -> None:
    expected = None
    if found is not None:
        expected = STATES[found].commit
    assert find_restart_commit(STATES, name) == expected


def test_of_many_states_the_first_and_the_newest_are_listed() -> None:
    assert len(format_restart_states(STATES, 10_000).splitlines()) == len(STATES)
    lines = format_restart_states(STATES, 450).splitlines()
    assert lines[0].startswith(f"- {STATES[0].id}: the base")
    assert lines[-1].startswith(f"- {STATES[-1].id}: after landing 11 of 11")
    assert any("more" in line for line in lines)
    assert sum(map(len, lines)) < 500


def lands(name: str, commit: CommitId) -> list[Event]:
    fields = {"key": f"land/{commit}~0", "branch": "x", "new": commit, "tree": TreeId("t"), "units": (UnitId(name),)}
    return [LandingStarted(old=None, **fields), LandingFinished(**fields)]


def goes_back(new: CommitId) -> list[Event]:
    fields = {"key": "rewind/x~0", "branch": "x", "iteration": 1, "old": BAD, "new": new, "kept": "refs/kept"}
    return [RewindStarted(**fields), RewindFinished(**fields)]


def first_iteration() -> list[Event]:
    """A task lands alone, then the one task of a slice, which is done then."""
    slice_ = TaskId("s")
    return [
        *(created("a"), created("s", kind="branch"), PlanningStarted(task=slice_, round=1), created("s/b", "s")),
        *(*worked("a"), judged("a", "merge"), *lands("a@1", GOOD)),
        *(*worked("s/b"), judged("s/b", "merge"), *lands("s/b@1", BAD)),
        PlanningEnded(task=slice_, round=1, handoff=Handoff(summary="done")),
    ]


@pytest.mark.parametrize(
    ("new", "statuses", "units"),
    [(GOOD, ["merged", "discarded", "discarded"], {"a@1"}), (BASE, ["discarded", "discarded", "discarded"], set())],
)
def test_what_landed_after_the_good_state_is_discarded_with_the_slices_that_held_it(
    new: CommitId, statuses: Sequence[str], units: set[str]
) -> None:
    events = first_iteration()
    assert [one.commit for one in list_restart_states(told(*events))] == [BASE, GOOD, BAD]
    state = told(*events, *goes_back(new), IterationStarted(number=2, forget=True))
    assert [state.tasks[TaskId(name)].status for name in ("a", "s", "s/b")] == [*map(TaskStatus, statuses)]
    assert (state.landed_units, len(state.landed_at)) == (units, len(units))
    assert state.head == (GOOD if units else None)
    (left,) = state.goal.left_lines
    assert (left.start, left.tip, left.tasks[-1]) == (new, BAD, "s/b")
