"""What people say to a conversation under way: it is told once, with what the harness itself says."""

from collections.abc import Sequence

from orchestrator.agent.session_spec import SessionSpec
from orchestrator.domain.commands.person_words import LISTENING_ROLES, format_words, list_undelivered
from orchestrator.domain.event.people import WordsDelivered
from orchestrator.ports.ledger import Ledger


def take_words(spec: SessionSpec, ledger: Ledger, turn: int | None = None) -> tuple[str, Sequence[WordsDelivered]]:
    """Return what people have said to a conversation's task and nobody has heard, redacted, and the event that it was.

    The event is to be recorded together with what carries the words: the beginning, or the end of `turn`.
    """
    if spec.role not in LISTENING_ROLES:
        return "", []
    found = list_undelivered(ledger.state.goal.words.values(), spec.task)
    if not found:
        return "", []
    names = tuple(one.id for one in found)
    event = WordsDelivered(task=spec.task, session=spec.id, turn=turn, word_ids=names)
    return ledger.redact_text(format_words(found)), [event]
