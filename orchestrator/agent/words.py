"""The words of people to a task: every conversation that works on it is told them, once."""

from collections.abc import Sequence

from orchestrator.agent.session_spec import SessionSpec
from orchestrator.domain.commands.person_words import LISTENING_ROLES, PersonWords, format_words, list_undelivered
from orchestrator.domain.event.people import WordsDelivered
from orchestrator.domain.run.state import RunState
from orchestrator.ports.ledger import Ledger


def take_words(spec: SessionSpec, ledger: Ledger, turn: int | None = None) -> tuple[str, Sequence[WordsDelivered]]:
    """Return the words to a conversation's task that it has not been told, redacted, and the event that it is told.

    The event is to be recorded together with what carries the words: the beginning, or the end of `turn`. A beginning
    holds all that was ever said to the task, as far as it does not stand in the conversation that is continued.
    """
    if spec.role not in LISTENING_ROLES:
        return "", []
    found = list_undelivered(ledger.state.goal.words.values(), spec.task)
    if turn is None:
        found = _list_missed_words(spec, ledger.state)
    if not found:
        return "", []
    names = tuple(one.id for one in found)
    event = WordsDelivered(task=spec.task, session=spec.id, turn=turn, word_ids=names)
    return ledger.redact_text(format_words(found)), [event]


def repeat_words(spec: SessionSpec, ledger: Ledger) -> str:
    """Return the words that a fresh context of the conversation would lack: those that do not stand in its brief."""
    lacking = list[PersonWords]()
    if spec.role not in LISTENING_ROLES:
        return ""
    for said in ledger.state.goal.words.values():
        is_in_brief = said.session == spec.id and said.turn is None
        if said.task == spec.task and said.session is not None and not is_in_brief:
            lacking.append(said)
    return ledger.redact_text(format_words(lacking))


def _list_missed_words(spec: SessionSpec, state: RunState) -> list[PersonWords]:
    missed = list[PersonWords]()
    for said in state.goal.words.values():
        if said.task == spec.task and not _is_in_opening(said, spec, state):
            missed.append(said)
    return missed


def _is_in_opening(said: PersonWords, spec: SessionSpec, state: RunState) -> bool:
    """Return True if words stand in what a conversation that begins goes on from."""
    session, until = spec.continues, spec.until
    while session is not None:
        if said.session == session:
            return until is None or said.turn is None or said.turn <= until
        before = state.sessions[session]
        session, until = before.continues, before.until
    return False
