"""An index of all tasks of a run, kept up to date by each change: no step walks through all of them.

Nothing here is stored: it follows from the tasks, and is built when it is first asked for.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.tables.watched_table import WatchedTable

if TYPE_CHECKING:
    from orchestrator.domain.run.state import TaskState

_Names: TypeAlias = dict[TaskId, None]
"""Names in the order in which they came, of which each can be removed at once."""
_NONE: Mapping[TaskId, None] = {}


class TaskIndex:
    """The tasks of one table by what they have in common.

    `children` are by planner, in plan order; `followers` by what they wait for, in `depends_on` or `after`; `rivals` by
    the first of them; `asked` by the question about the plan that they stand in; `granted` may change protected files,
    `owners` are those of which the plan says what files they change.
    """

    def __init__(self, tasks: Mapping[TaskId, "TaskState"]) -> None:
        self._tasks = tasks
        self._places: dict[TaskId, int] = {}
        self._last_place = 0
        self.children: dict[TaskId, _Names] = {}
        self.followers: dict[TaskId, _Names] = {}
        self.rivals: dict[TaskId, _Names] = {}
        self.asked: dict[str, _Names] = {}
        self.granted: _Names = {}
        self.owners: _Names = {}
        self._by_status: dict[TaskStatus, _Names] = {status: {} for status in TaskStatus}
        self._live_children: Counter[TaskId] = Counter()
        self._landed_below: Counter[TaskId] = Counter()
        for name, task in tasks.items():
            self._add_task(name, task)
        for name in self._by_status[TaskStatus.MERGED]:
            self._count_landed(tasks[name], 1)

    # --- questions -------------------------------------------------------------------------------------------------

    def get_place(self, task: TaskId) -> int:
        """Return a number that is higher for tasks that stand later in the plan."""
        return self._places[task]

    def sort_by_place(self, tasks: Iterable[TaskId]) -> list[TaskId]:
        """Return tasks in plan order."""
        return sorted(tasks, key=self._places.__getitem__)

    def list_with_status(self, *statuses: TaskStatus) -> list[TaskId]:
        """Return the tasks that have one of these statuses, in plan order."""
        found = list[TaskId]()
        for status in statuses:
            found += self._by_status[status]
        return self.sort_by_place(found)

    def has_status(self, status: TaskStatus) -> bool:
        """Return True if a task has this status."""
        return bool(self._by_status[status])

    def count_live_children(self, planner: TaskId) -> int:
        """Return how many tasks of a planner have not ended."""
        return self._live_children[planner]

    def count_landed_below(self, task: TaskId) -> int:
        """Return how many tasks below a planner's, at any depth, have landed."""
        return self._landed_below[task]

    def list_granted(self) -> list[TaskId]:
        """Return the tasks that may change what is protected, in plan order."""
        return self.sort_by_place(self.granted)

    def list_owners(self) -> list[TaskId]:
        """Return the tasks of which the plan says what files they change, in plan order."""
        return self.sort_by_place(self.owners)

    def list_grants(self) -> tuple[AnyGrant, ...]:
        """Return what all tasks together may change of what is protected."""
        return tuple(chain.from_iterable(self._tasks[name].spec.grants for name in self.list_granted()))

    def list_followers(self, task: TaskId) -> list[TaskId]:
        """Return the tasks that wait for a task by its name, in plan order."""
        return self.sort_by_place(self.followers.get(task, _NONE))

    # --- changes ---------------------------------------------------------------------------------------------------

    def replace_task(self, old: "TaskState", new: "TaskState") -> None:
        """Take in that a task has changed; its name and its planner are as they were."""
        name = new.spec.id
        if old.spec is not new.spec:
            self._unlink_task(name, old)
            self._link_task(name, new)
        if old.status is new.status:
            return
        del self._by_status[old.status][name]
        self._by_status[new.status][name] = None
        if new.spec.parent is not None:
            self._live_children[new.spec.parent] += old.status.is_terminal - new.status.is_terminal
        landed = (new.status == TaskStatus.MERGED) - (old.status == TaskStatus.MERGED)
        if landed:
            self._count_landed(new, landed)

    def add_task(self, name: TaskId, task: "TaskState") -> None:
        """Take in a new task, below which there is none yet."""
        self._add_task(name, task)
        if task.status == TaskStatus.MERGED:
            self._count_landed(task, 1)

    def remove_task(self, name: TaskId, task: "TaskState") -> None:
        """Take in that a task is gone, below which there was none."""
        self._unlink_task(name, task)
        del self._by_status[task.status][name], self._places[name]
        if task.spec.parent is not None:
            _discard(self.children, task.spec.parent, name)
            self._live_children[task.spec.parent] -= not task.status.is_terminal
        if task.status == TaskStatus.MERGED:
            self._count_landed(task, -1)

    def _add_task(self, name: TaskId, task: "TaskState") -> None:
        self._last_place += 1
        self._places[name] = self._last_place
        self._by_status[task.status][name] = None
        if task.spec.parent is not None:
            self.children.setdefault(task.spec.parent, {})[name] = None
            self._live_children[task.spec.parent] += not task.status.is_terminal
        self._link_task(name, task)

    def _link_task(self, name: TaskId, task: "TaskState") -> None:
        spec = task.spec
        for needed in (*spec.depends_on, *spec.after):
            self.followers.setdefault(needed, {})[name] = None
        if spec.rival_of is not None:
            self.rivals.setdefault(spec.rival_of, {})[name] = None
        if spec.approval:
            self.asked.setdefault(spec.approval, {})[name] = None
        if spec.grants:
            self.granted[name] = None
        if spec.paths:
            self.owners[name] = None

    def _unlink_task(self, name: TaskId, task: "TaskState") -> None:
        spec = task.spec
        for needed in (*spec.depends_on, *spec.after):
            _discard(self.followers, needed, name)
        if spec.rival_of is not None:
            _discard(self.rivals, spec.rival_of, name)
        if spec.approval:
            _discard(self.asked, spec.approval, name)
        self.granted.pop(name, None)
        self.owners.pop(name, None)

    def _count_landed(self, task: "TaskState", by: int) -> None:
        for above in self._iterate_above(task):
            self._landed_below[above] += by

    def _iterate_above(self, task: "TaskState") -> Iterator[TaskId]:
        above = task.spec.parent
        while above is not None and above in self._tasks:
            yield above
            above = self._tasks[above].spec.parent


def _discard(groups: dict[TaskId, _Names] | dict[str, _Names], group: str, name: TaskId) -> None:
    """Remove a name from its group, where it is in it; task ids are strings too."""
    names = groups.get(group)  # type: ignore[call-overload]
    if names is not None:
        names.pop(name, None)


class TaskTable(WatchedTable[TaskId, "TaskState"]):
    """The tasks of a run by name, in plan order, with their index."""

    __slots__ = ("_index",)

    def __init__(self, content: "dict[TaskId, TaskState] | None" = None) -> None:
        super().__init__(content)
        self._index: TaskIndex | None = None

    @property
    def task_index(self) -> TaskIndex:
        """The index of the tasks as they are now."""
        if self._index is None:
            self._index = TaskIndex(self)
        return self._index

    def __setitem__(self, key: TaskId, value: "TaskState") -> None:
        """Add or replace a task."""
        old, index = self.get(key), self._index
        super().__setitem__(key, value)
        if index is None:
            return
        if old is not None and old.spec.parent == value.spec.parent:
            index.replace_task(old, value)
        elif old is None and key not in index.children:
            index.add_task(key, value)
        else:
            self._index = None  # what is below it counts otherwise from now on

    def __delitem__(self, key: TaskId) -> None:
        """Remove a task."""
        old, index = self.get(key), self._index
        super().__delitem__(key)
        if index is None or old is None:
            return
        if index.children.get(key):
            self._index = None
        else:
            index.remove_task(key, old)
