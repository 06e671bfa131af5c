"""Words of people that do not wait for the reply under way: the request is given up, and the words are told first."""

from collections.abc import Coroutine

from orchestrator.agent.session_spec import SessionSpec
from orchestrator.domain.chat import Reply
from orchestrator.domain.commands.person_words import LISTENING_ROLES, has_urgent_words
from orchestrator.ports.ledger import Ledger


async def await_reply(spec: SessionSpec, ledger: Ledger, asking: Coroutine[object, object, Reply]) -> Reply | None:
    """Return a model's reply; None if a person has something to say that does not wait for it.

    What had been asked may be billed, and is booked so. A reply that came at the same moment is left unused.

    Raises:
        as `asking` does.
    """
    if spec.role not in LISTENING_ROLES:
        return await asking
    if is_interrupted(spec, ledger):
        asking.close()
        return None
    reply: Reply | None = None
    with ledger.cancel_at_urgent_words(spec.task):
        reply = await asking
    return None if is_interrupted(spec, ledger) else reply


def is_interrupted(spec: SessionSpec, ledger: Ledger) -> bool:
    """Return True if there are words to a conversation that do not wait, and that nobody has heard."""
    return spec.role in LISTENING_ROLES and has_urgent_words(ledger.state.goal.words.values(), spec.task)
