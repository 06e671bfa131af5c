"""Whose files a candidate changes: those that another task at work has named are that task's to change."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.domain.run.task import Task
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.rules.diff_summary import join_first_items, list_paths_out_of_scope

_WILD = frozenset("*?[")


def list_parallel_tasks(task: Task, tasks: Mapping[TaskId, Task], live: Sequence[Task]) -> tuple[Task, ...]:
    """The live tasks that may work while this one does: not its own branches, and none that has an order with it."""
    own = _line(task, tasks)
    return tuple(
        other
        for other in live
        if other.paths
        and other.id not in own
        and task.id not in _line(other, tasks)
        and not _waits_for(own, _line(other, tasks), tasks)
        and not _waits_for(_line(other, tasks), own, tasks)
    )


def _line(task: Task, tasks: Mapping[TaskId, Task]) -> frozenset[TaskId]:
    """A task and the branches that it is below."""
    found = {task.id}
    while task.parent is not None and task.parent in tasks and task.parent not in found:
        task = tasks[task.parent]
        found.add(task.id)
    return frozenset(found)


def _waits_for(these: frozenset[TaskId], those: frozenset[TaskId], tasks: Mapping[TaskId, Task]) -> bool:
    """Whether one of these depends on one of those, directly or through others; what both are below orders nothing."""
    wanted = those - these
    seen, stack = set[TaskId](), list(these - those)
    while stack:
        name = stack.pop()
        if name in wanted:
            return True
        if name not in seen and name in tasks:
            seen.add(name)
            stack += tasks[name].depends_on
    return False


def check_task_scope(task: Task, files: Sequence[ChangedFile], others: Sequence[Task]) -> Iterator[Finding]:
    """A blocking finding for each other task whose files are changed, though this one did not name them.

    A file that is new is another's only if that one names it: two tasks may both add to a directory.
    """
    outside = frozenset(list_paths_out_of_scope(task, [file.path for file in files]))
    for other in others:
        taken = []
        for file in files:
            if file.path in outside and _is_its(file, other):
                taken.append(file.path)
        if taken:
            text = f"{join_first_items(taken, ', ')}: task {other.id} is to change that, and this task did not name it: leave it alone"
            yield Finding(rule="scope", text=text, is_blocking=True)


def _is_its(file: ChangedFile, other: Task) -> bool:
    return any(matches_glob(glob, file.path) for glob in other.paths if not (file.is_new and _WILD.intersection(glob)))
