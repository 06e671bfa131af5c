"""The register of decisions: who decided what for a part of the work, what holds now, and what contradicts."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId, find_common_task, is_at_or_below


class DecisionDraft(FrozenModel):
    """A decision as an agent words it."""

    id: str = Field(description="Short name: at most 40 lower-case letters, digits, hyphens.")
    text: str = Field(description="What was decided, in one or two sentences, with names and values.")


class Decision(FrozenModel):
    """A decision of a run: `owner` is the task of whoever took it, `superseded_by` of who decided otherwise later."""

    id: str
    text: str
    owner: TaskId
    superseded_by: TaskId | None = None

    @property
    def is_in_force(self) -> bool:
        """True if nobody above decided otherwise since."""
        return self.superseded_by is None


def record_decisions(
    register: Sequence[Decision], owner: TaskId, drafts: Iterable[DecisionDraft]
) -> tuple[Decision, ...]:
    """Return the register with what `owner` decided.

    That ends what the owner itself and those below it had decided under the same id. What others decided stays: the two
    contradict each other unless they say the same.
    """
    drafts = tuple(drafts)
    if not drafts and isinstance(register, tuple):
        return register  # which stays the same object: nothing was decided
    entries = list(register)
    for draft in drafts:
        is_known = False
        for place, entry in enumerate(entries):
            if not entry.is_in_force or entry.id != draft.id:
                continue
            if entry.text == draft.text:
                is_known = True
            elif is_at_or_below(entry.owner, owner):
                entries[place] = entry.model_copy(update={"superseded_by": owner})
        if not is_known:
            entries.append(Decision(id=draft.id, text=draft.text, owner=owner))
    return tuple(entries)


def drop_decisions(
    register: Sequence[Decision], owner: TaskId, drafts: Iterable[DecisionDraft]
) -> tuple[Decision, ...]:
    """Return the register without decisions of `owner` in these words: a person took them out of its plan.

    The latest decision that each of these had ended holds again.
    """
    dropped = {(draft.id, draft.text) for draft in drafts}
    restored, kept = set[str](), list[Decision]()
    for entry in reversed(register):
        if entry.is_in_force and entry.owner == owner and (entry.id, entry.text) in dropped:
            restored.add(entry.id)
        elif entry.superseded_by == owner and entry.id in restored:
            restored.remove(entry.id)
            kept.append(entry.model_copy(update={"superseded_by": None}))
        else:
            kept.append(entry)
    return tuple(reversed(kept))


class Contradiction(FrozenModel):
    """Decisions under one id that differ and both hold; `planner` is the lowest one above all who took them."""

    id: str
    decisions: tuple[Decision, ...]
    planner: TaskId


def list_contradictions(register: Sequence[Decision]) -> Iterator[Contradiction]:
    """Yield the decisions that contradict each other, in the order in which they were first taken."""
    by_id: dict[str, list[Decision]] = {}
    for decision in register:
        if decision.is_in_force:
            by_id.setdefault(decision.id, []).append(decision)
    for name, decisions in by_id.items():
        if len(decisions) > 1:
            planner = find_common_task([decision.owner for decision in decisions])
            yield Contradiction(id=name, decisions=tuple(decisions), planner=planner)
