"""Which status may follow which: short cuts around the gate and the queue are refused."""

import pytest

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.transitions import FILE_TRANSITIONS, TASK_TRANSITIONS, IllegalTransition, apply_transition


@pytest.mark.parametrize("old", [status for status in TaskStatus if status != TaskStatus.QUEUED])
def test_a_task_is_merged_from_the_queue_only(old: TaskStatus) -> None:
    with pytest.raises(IllegalTransition, match=f"task a: {old} cannot become merged"):
        apply_transition(TASK_TRANSITIONS, "task a", old, TaskStatus.MERGED)


@pytest.mark.parametrize("old", [status for status in TaskStatus if status != TaskStatus.JUDGING])
def test_a_task_is_queued_by_its_verdict_only(old: TaskStatus) -> None:
    with pytest.raises(IllegalTransition):
        apply_transition(TASK_TRANSITIONS, "task a", old, TaskStatus.QUEUED)


@pytest.mark.parametrize("old", [status for status in FileStatus if status != FileStatus.TRANSFORMED])
def test_only_a_file_that_a_step_changed_is_merged_or_ejected(old: FileStatus) -> None:
    for new in {FileStatus.MERGED, FileStatus.EJECTED} - {old}:
        with pytest.raises(IllegalTransition):
            apply_transition(FILE_TRANSITIONS, "file a.py", old, new)


def test_what_has_landed_stays_as_it_is_unless_a_restart_leaves_it_behind() -> None:
    assert TASK_TRANSITIONS[TaskStatus.MERGED] == {TaskStatus.DISCARDED}
    assert TASK_TRANSITIONS[TaskStatus.DISCARDED] == frozenset()


@pytest.mark.parametrize("end", ["rejected", "blocked", "cancelled"])
def test_what_has_ended_without_landing_can_only_be_tried_again(end: str) -> None:
    waits_for_it = {TaskStatus.WAITING} if end == "cancelled" else set()
    assert TASK_TRANSITIONS[TaskStatus(end)] == {TaskStatus.PLANNED} | waits_for_it


@pytest.mark.parametrize("end", [status for status in FileStatus if status.is_terminal])
def test_a_file_that_has_ended_only_begins_anew_or_is_left_out_or_taken_back(end: FileStatus) -> None:
    allowed = {FileStatus.DISCOVERED, FileStatus.REVERTED if end == FileStatus.MERGED else FileStatus.SKIPPED}
    assert FILE_TRANSITIONS[end] == allowed - {end}
