"""Which reply of a script a request gets: derived from the request alone, so that clients may die and come back."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from orchestrator.domain.chat import Role
from orchestrator.domain.ids import TaskId
from orchestrator.llm.scripted_model.model import ScriptCursor
from orchestrator.llm.scripted_model.script import ScriptedReply

SEPARATOR = "\t"


class Unplayable(Exception):
    """The request names no role or task that a script could answer."""


class Play:
    """A script, how far each (role, task) has come in it, and which request got which reply.

    A new request takes the next reply of its role and task. The same request again gets the same reply again, unless
    that was an error: then it is a retry, and takes the next one. With a `state` file all of this outlives the process.
    """

    def __init__(self, items: Iterable[ScriptedReply], state: Path | None = None) -> None:
        self._state = state
        saved = json.loads(state.read_text()) if state and state.exists() else {"used": {}, "answered": {}}
        used = {_key(name): count for name, count in saved["used"].items()}
        self._answered: dict[str, int] = saved["answered"]
        self._cursor = ScriptCursor(items, used, "the loopback server's script")
        self.repeated = 0
        self.by_key: Counter[str] = Counter()

    def answer(self, role: Role, task: TaskId, messages: Sequence[dict[str, Any]]) -> tuple[int, ScriptedReply]:
        """The reply and its place in the queue of its role and task.

        Raises:
            ScriptExhausted: no reply is left.
        """
        self.by_key[f"{role}{SEPARATOR}{task}"] += 1
        digest = hashlib.sha256(json.dumps([role, task, messages], sort_keys=True).encode()).hexdigest()
        place = self._answered.get(digest)
        if place is not None and (item := self._cursor.get_queue(role, task)[place]).error is None:
            self.repeated += 1
            return place, item
        place, item = self._cursor.take_reply(role, task)
        self._answered[digest] = place
        self._save()
        return place, item

    def remaining(self) -> dict[str, int]:
        """What is left, by `role<tab>task`."""
        return {SEPARATOR.join(key): count for key, count in self._cursor.count_remaining().items()}

    def _save(self) -> None:
        if self._state is None:
            return
        used = {SEPARATOR.join(key): count for key, count in self._cursor.used_counts.items()}
        draft = self._state.with_suffix(".draft")
        draft.write_text(json.dumps({"used": used, "answered": self._answered}))
        draft.replace(self._state)


def role_of(model: str) -> Role:
    """`worker` for `worker`, `openai/worker` and `worker-strong`."""
    name = model.rsplit("/", 1)[-1].split("-", 1)[0]
    for role in get_args(Role):
        if role == name:
            return role
    raise Unplayable(f"model {model!r} names no role; use one of {', '.join(get_args(Role))}, such as 'openai/worker'")


def task_of(messages: Sequence[dict[str, Any]]) -> TaskId:
    """The task named by a line `Task: <id>` of the first user message."""
    for message in messages:
        if message.get("role") == "user":
            for line in text_of(message).splitlines():
                if line.startswith("Task: "):
                    return TaskId(line.removeprefix("Task: ").strip())
            break
    raise Unplayable("the first user message has no line 'Task: <id>'")


def text_of(message: dict[str, Any]) -> str:
    """The words of a message, whether given as text or in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _key(name: str) -> tuple[Role, TaskId]:
    role, task = name.split(SEPARATOR, 1)
    return role_of(role), TaskId(task)
