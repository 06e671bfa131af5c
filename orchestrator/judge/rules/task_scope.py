"""Files outside of a task's paths: those that another task at work has named are that task's to change."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.domain.run.task import Task
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.path_globs import PathGlobs
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag

_WILDCARDS = frozenset("*?[")
_MAX_SHOWN = 10


def check_task_scope(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding on all paths outside of the task's, and a blocking one for each other task that named some.

    A file that is new is another's only if that one names it without wildcards: two tasks may both add to a directory.
    """
    outside = _list_files_out_of_scope(facts)
    if not outside:
        return
    paths = join_limited((file.path for file in outside), _MAX_SHOWN)
    yield build_flag(RuleId.SCOPE, f"outside the paths the task expected to change: {paths}")
    for other in facts.parallel_tasks:
        taken = [file.path for file in outside if _belongs_to_task(file, other)]
        if taken:
            paths = join_limited(taken, _MAX_SHOWN)
            text = f"{paths}: task {other.id} is to change that, and this task did not name it: leave it alone"
            yield Finding(rule=RuleId.SCOPE, text=text, is_blocking=True)


def _list_files_out_of_scope(facts: ChangeFacts) -> Sequence[ChangedFile]:
    """Return the files that none of the task's globs covers; none if the task names no paths."""
    if facts.task is None or not facts.task.paths:
        return ()
    scope = PathGlobs(facts.task.paths)
    return [file for file in facts.files if not scope.match_file(file.path)]


def _belongs_to_task(file: ChangedFile, task: Task) -> bool:
    named = filter(_WILDCARDS.isdisjoint, task.paths) if file.is_new else task.paths
    return any(matches_glob(glob, file.path) for glob in named)


def list_parallel_tasks(task: Task, tasks: Mapping[TaskId, Task], live: Sequence[Task]) -> tuple[Task, ...]:
    """Return the live tasks with paths that may work while this one does: no branch of its own, nothing in an order."""
    own = _collect_ancestors(task, tasks)
    parallel = []
    for other in live:
        if not other.paths:
            continue
        line = _collect_ancestors(other, tasks)
        is_related = other.id in own or task.id in line
        if not (is_related or _depends_on(own, line, tasks) or _depends_on(line, own, tasks)):
            parallel.append(other)
    return tuple(parallel)


def _collect_ancestors(task: Task, tasks: Mapping[TaskId, Task]) -> frozenset[TaskId]:
    """Return the ids of a task and of the branches that it is below."""
    found = {task.id}
    while task.parent is not None and task.parent in tasks and task.parent not in found:
        task = tasks[task.parent]
        found.add(task.id)
    return frozenset(found)


def _depends_on(later: frozenset[TaskId], earlier: frozenset[TaskId], tasks: Mapping[TaskId, Task]) -> bool:
    """Return True if a later task waits for an earlier one, directly or through others.

    The branches that both are below order nothing.
    """
    wanted = earlier - later
    seen, stack = set[TaskId](), list(later - earlier)
    while stack:
        name = stack.pop()
        if name in wanted:
            return True
        if name not in seen and name in tasks:
            seen.add(name)
            stack += tasks[name].depends_on
    return False
