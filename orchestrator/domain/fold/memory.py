"""The changes that events of memory make to the state of a run."""

from functools import singledispatch

from orchestrator.domain.event import memory
from orchestrator.domain.event.base import Event
from orchestrator.domain.fold.record_updates import get_named_task
from orchestrator.domain.frozen_model import copy_with_changes
from orchestrator.domain.memory.entry import RunNote, TaskProposals
from orchestrator.domain.run.state import RunState


@singledispatch
def apply_memory_event(event: Event, state: RunState) -> None:
    """Change a state that the caller owns as one event of memory says."""


@apply_memory_event.register
def _(event: memory.GuideRead, state: RunState) -> None:
    state.memory = copy_with_changes(state.memory, guide=event.entries, retired=event.retired)


@apply_memory_event.register
def _(event: memory.EntriesProposed, state: RunState) -> None:
    task = get_named_task(state, event).spec.id
    known, used = state.memory.proposals, state.memory.used
    entry = TaskProposals(task=task, attempt=event.number, proposals=event.proposals)
    others = tuple(one for one in known if (one.task, one.attempt) != (task, event.number))
    used = tuple(dict.fromkeys((*used, *event.used)))
    state.memory = copy_with_changes(state.memory, proposals=(*others, entry), used=used)


@apply_memory_event.register
def _(event: memory.GuideChanged, state: RunState) -> None:
    state.memory = copy_with_changes(state.memory, added=event.added, retired=event.retired, has_changed=True)


@apply_memory_event.register
def _(event: memory.NoteTaken, state: RunState) -> None:
    note = RunNote(kind=event.note, text=event.text, task=get_named_task(state, event).spec.id)
    state.memory = copy_with_changes(state.memory, notes=(*state.memory.notes, note))
