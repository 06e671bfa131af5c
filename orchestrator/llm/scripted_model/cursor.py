"""The place of each (role, task) in a script; parallel tasks never draw from one another's replies."""

from collections.abc import Iterable, Mapping

from orchestrator.domain.chat import Role
from orchestrator.domain.ids import TaskId
from orchestrator.llm.errors import ScriptExhausted
from orchestrator.llm.scripted_model.script import ANY_TASK, ScriptedReply

ScriptKey = tuple[Role, TaskId]


class ScriptCursor:
    """One queue of replies per (role, task), in file order, and how many of each were used."""

    def __init__(
        self, items: Iterable[ScriptedReply], consumed: Mapping[ScriptKey, int] | None = None, name: str = "the script"
    ) -> None:
        """Set up; `consumed` counts what an earlier process used, `name` stands in messages."""
        self._name = name
        self._queues: dict[ScriptKey, list[ScriptedReply]] = {}
        for item in items:
            self._queues.setdefault((item.role, TaskId(item.task)), []).append(item)
        self._used: dict[ScriptKey, int] = {key: count for key, count in (consumed or {}).items() if count}

    def get_queue(self, role: Role, task: TaskId) -> list[ScriptedReply]:
        """Return all replies for a task, used or not: its own, or else those for any task of the role."""
        return self._queues.get((role, task)) or self._queues.get((role, TaskId(ANY_TASK)), [])

    def take_reply(self, role: Role, task: TaskId) -> tuple[int, ScriptedReply]:
        """Return the next reply and its place in the queue, counted from 0.

        Raises:
            ScriptExhausted: none is left.
        """
        queue, used = self.get_queue(role, task), self._used.get((role, task), 0)
        if used >= len(queue):
            raise ScriptExhausted(
                f"{self._name} has no more replies for role {role!r}, task {task!r}: all {len(queue)} were used. "
                f'Add a [[reply]] with role = "{role}" and task = "{task}", or find out why it is asked so often.'
            )
        self._used[role, task] = used + 1
        return used, queue[used]

    @property
    def used_counts(self) -> dict[ScriptKey, int]:
        """The number of replies that each (role, task) has used."""
        return dict(self._used)

    def count_remaining(self) -> dict[ScriptKey, int]:
        """Return how many replies are left for each (role, task); empty when every one was used.

        A sequence for any task counts for each task that began it, and under the task `*` if none did.
        """
        left = {key: len(self.get_queue(*key)) - used for key, used in self._used.items()}
        for key, queue in self._queues.items():
            if key[1] != ANY_TASK:
                left.setdefault(key, len(queue))
            elif not any(role == key[0] and (role, task) not in self._queues for role, task in self._used):
                left[key] = len(queue)
        return {key: count for key, count in left.items() if count > 0}
