"""Names of things. A task's id is its path in the plan tree, so it is stable, short and readable."""

import re
from typing import NewType

RunId = NewType("RunId", str)
TaskId = NewType("TaskId", str)
SessionId = NewType("SessionId", str)
CommitId = NewType("CommitId", str)
TreeId = NewType("TreeId", str)
UnitId = NewType("UnitId", str)
"""What the queue lands or ejects as one: a task, or one file of a migration."""
CRITERION_ID_PATTERN = r"[a-z0-9][a-z0-9-]{0,39}"
"""The pattern of a criterion's id."""

ROOT_TASK = TaskId("root")
TASK_KEY_PATTERN = re.compile(r"[a-z0-9][a-z0-9-]{0,39}\Z")


def build_child_task_id(parent: TaskId, key: str) -> TaskId:
    """`storage` below the root, `storage/index` below that."""
    return TaskId(key if parent == ROOT_TASK else f"{parent}/{key}")


def format_task_ref(task: TaskId) -> str:
    """The task id as one component of a ref: `storage/index` becomes `storage.index`."""
    return task.replace("/", ".")


def make_slug(text: str, limit: int = 40) -> str:
    """Lower-case words of `text` joined by hyphens, at most `limit` characters, never empty."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words[:limit].rstrip("-") or "run"
