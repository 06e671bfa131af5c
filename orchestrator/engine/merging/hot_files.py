"""Files in which work keeps clashing: tasks that name one are at work one after the other. Pure."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from orchestrator.domain.ids import TaskId, build_landing_item, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus


def find_hot_files(state: RunState, freeze_after: int) -> frozenset[str]:
    """Return the files in which candidates of two tasks or more clashed so often; none where that is 0."""
    return ClashCounts(state).find_hot_files(freeze_after)


class ClashCounts:
    """The number of clashes of candidates in each file, counted on from where it was counted to."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._counted = 0
        self._found: tuple[int, frozenset[str]] = (0, frozenset())
        self._counts: Counter[str] = Counter()
        self._tasks: dict[str, set[TaskId]] = {}

    def find_hot_files(self, freeze_after: int) -> frozenset[str]:
        """Return the files in which candidates of two tasks or more clashed so often; none where that is 0."""
        if freeze_after == self._found[0] and self._counted == len(self._state.ejections):
            return self._found[1]
        for ejection in islice(self._state.ejections, self._counted, None):
            self._counts.update(ejection.conflict)
            for path in ejection.conflict:
                self._tasks.setdefault(path, set()).add(parse_unit_task(ejection.unit))
        self._counted = len(self._state.ejections)
        found = set[str]()
        for path, count in self._counts.items():
            if freeze_after and count >= freeze_after and len(self._tasks[path]) > 1:
                found.add(path)
        self._found = (freeze_after, frozenset(found))
        return self._found[1]

    def get_count(self, path: str) -> int:
        """Return how often candidates had clashed in a file when hot files were looked for last."""
        return self._counts[path]


def list_named_files(task: TaskState, files: Collection[str]) -> Iterator[str]:
    """Yield those of the files that the task's plan names, without wildcards, or that its work has changed."""
    changed: Collection[str] = ()
    if task.candidates:
        changed = task.candidates[-1].paths
    for file in sorted(files):
        if file in task.spec.paths or file in changed:
            yield file


def describe_clashes(clashes: ClashCounts, task: TaskState, freeze_after: int) -> Iterator[str]:
    """Yield what the planner of a task has to know of where its work clashed, and of files that it has to wait for."""
    hot = clashes.find_hot_files(freeze_after)
    counts: Counter[str] = Counter()
    for ejection in task.ejections:
        counts.update(ejection.conflict)
    for path, count in sorted(counts.items()):
        yield f"its work clashed {count} times in {path} with what had landed"
    for path in list_named_files(task, hot):
        count = clashes.get_count(path)
        yield (
            f"work of several tasks clashed {count} times in {path}: tasks that name it are at work one after "
            "the other; cut the work so that one task owns that file, or have one divide the file first"
        )


class FileQueue:
    """The tasks that may begin an attempt although work keeps clashing in files that they name.

    `files` are those files, `begun` the tasks whose attempts are beginning right now, `tasks` all that may name a file.
    """

    def __init__(
        self, state: RunState, files: frozenset[str], begun: Collection[TaskId], tasks: Iterable[TaskState]
    ) -> None:
        self._files = files
        self._taken: set[str] = set()
        if files:
            for task in tasks:
                if task.spec.id in begun or _is_under_way(state, task):
                    self._taken.update(list_named_files(task, files))

    def admit_task(self, task: TaskState) -> bool:
        """Return True if no other task that names one of the files is under way, and take them for this one."""
        named = set(list_named_files(task, self._files))
        if named & self._taken:
            return False
        self._taken |= named
        return True


def _is_under_way(state: RunState, task: TaskState) -> bool:
    """Return True if an attempt at the task is at work, judged or about to land, and waits for no person or rival."""
    match task.status:
        case TaskStatus.RUNNING:
            return True
        case TaskStatus.JUDGING:
            return task.verdict is None
        case TaskStatus.QUEUED:
            answer = state.approvals.get(build_landing_item(task.unit))
            is_landing = task.ejection is None and not task.waits_for_choice
            return is_landing and (answer is None or answer.decision == "approve")
    return False
