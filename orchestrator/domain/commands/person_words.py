"""What people say to a planner or a worker while a run goes on, and whether it has heard that."""

from collections.abc import Iterable

from orchestrator.domain.chat import Role
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import SessionId, TaskId

MAX_WORDS_CHARS = 4_000
LISTENING_ROLES: frozenset[Role] = frozenset({"planner", "worker", "arbiter"})
"""The roles that do the work of a task. A reviewer is told nothing by anybody: it looks for itself."""
WORDS_FOLLOW = "they have something to say, which follows"
"""The reason for which a call is ended that words do not wait for, as the model is told."""
_LEAD = "The person who follows the run says, and it counts as part of your orders:"


class PersonWords(FrozenModel):
    """Words to whoever works on a task. `session` is the latest conversation that was told, None as long as none.

    They stand in the brief of that conversation, or after its turn `turn`. Those that are `urgent` do not wait for what
    the conversation waits for.
    """

    id: str
    task: TaskId
    by: str
    text: str
    is_urgent: bool = False
    session: SessionId | None = None
    turn: int | None = None


def list_undelivered(words: Iterable[PersonWords], task: TaskId) -> list[PersonWords]:
    """Return the words to a task that nobody has heard, in the order in which they were said."""
    return [one for one in words if one.task == task and one.session is None]


def has_urgent_words(words: Iterable[PersonWords], task: TaskId) -> bool:
    """Return True if nobody has heard words to a task that do not wait."""
    return any(one.is_urgent for one in list_undelivered(words, task))


def format_words(words: Iterable[PersonWords]) -> str:
    """Return words as a model is told them; empty for none."""
    said = [one.text for one in words]
    return "\n\n".join((_LEAD, *said)) if said else ""
