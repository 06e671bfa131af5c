"""Files in which work keeps clashing: which they are, who waits for whom, and what planners are told."""

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId, TreeId, build_unit_id
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, Task, TaskStatus
from orchestrator.engine.goal.actions import Action, ContinueAttempt, StartAttempt
from orchestrator.engine.goal.schedule import ScheduleLimits, list_due_actions
from orchestrator.engine.merging.hot_files import ClashCounts, describe_clashes, find_hot_files

A, B, C = TaskId("a"), TaskId("b"), TaskId("c")
HOT = "src/shop.py"
BOUNDS = ScheduleLimits(max_workers=9, max_attempts=3, freeze_after=2)


def task(name: TaskId, status: TaskStatus = TaskStatus.PLANNED, paths: tuple[str, ...] = (HOT,)) -> TaskState:
    spec = Task(id=name, parent=ROOT_TASK, depth=1, kind="leaf", title=name, outcome=name, paths=paths)
    attempt = Attempt(task=name, number=1, mode="fresh", base=CommitId("c"), model="m")
    return TaskState(spec=spec, status=status, attempts=(attempt,) * (status != TaskStatus.PLANNED))


def clash(name: TaskId, path: str = HOT) -> UnitEjected:
    return UnitEjected(round="r", unit=build_unit_id(name, 1), conflict=(path,))


def run(*tasks: TaskState, ejections: tuple[UnitEjected, ...] = (clash(A), clash(B))) -> RunState:
    return RunState(tasks={one.spec.id: one for one in tasks}, ejections=list(ejections))


def due(state: RunState, *busy: Action) -> list[Action]:
    return list_due_actions(state, BOUNDS, frozenset(busy))


def test_a_file_is_hot_once_work_of_two_tasks_clashed_there_so_often() -> None:
    state = run(ejections=(clash(A), clash(B), clash(B, "README.md")))
    assert state.list_clashing_files() == [(HOT, 2), ("README.md", 1)]
    assert find_hot_files(state, 2) == {HOT}
    assert find_hot_files(state, 3) == find_hot_files(state, 0) == frozenset()
    assert find_hot_files(run(ejections=(clash(A), clash(A))), 2) == frozenset(), "one task alone is no crowd"


def test_of_tasks_that_name_a_hot_file_one_is_at_work_and_others_are_not_held_back() -> None:
    elsewhere = task(TaskId("d"), paths=("src/**", "docs/a.md"))
    assert due(run(task(A), task(B), elsewhere)) == [StartAttempt(A), StartAttempt(TaskId("d"))]
    assert due(run(task(A, TaskStatus.RUNNING), task(B))) == [ContinueAttempt(A)]
    assert due(run(task(A), task(B)), StartAttempt(A)) == []
    assert StartAttempt(B) not in due(run(task(A, TaskStatus.QUEUED), task(B))), "it is about to land"
    assert due(run(task(A, TaskStatus.MERGED), task(B))) == [StartAttempt(B)]


def test_a_task_that_changed_a_hot_file_without_naming_it_waits_as_well() -> None:
    taken = CandidateTaken(
        key="k~0", number=1, commit=CommitId("c"), tree=TreeId("t"), ref="r", paths=(HOT,), added=1, removed=0
    )
    changed = task(A, TaskStatus.RUNNING, ()).model_copy(update={"candidates": (taken,)})
    assert due(run(changed, task(B))) == [ContinueAttempt(A)]


def test_planners_are_told_where_work_clashes_and_what_to_do() -> None:
    clashed = task(A, TaskStatus.REJECTED).model_copy(update={"ejections": (clash(A),)})
    state = run(clashed, task(B))
    assert len(list(describe_clashes(ClashCounts(state), clashed, 2))) == 2
    (told,) = describe_clashes(ClashCounts(state), state.tasks[B], 2)
    assert "clashed 2 times in src/shop.py: tasks that name it are at work one after the other" in told


def test_a_rival_that_passed_lets_the_others_begin_in_a_hot_file() -> None:
    tries = []
    for one in (task(A, TaskStatus.QUEUED), task(B)):
        tries.append(one.model_copy(update={"spec": one.spec.model_copy(update={"rival_of": A})}))
    assert due(run(*tries)) == [StartAttempt(B)]
