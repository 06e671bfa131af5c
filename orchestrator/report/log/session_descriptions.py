"""Describe in words how conversations begin, go on and end."""

from orchestrator.domain.event import work
from orchestrator.domain.event.guests import GuestSessionOpened


def shorten_model_name(model: str) -> str:
    """Return the name of a model, without directories where it is a script."""
    kind, colon, path = model.partition(":")
    if colon and kind == "scripted":
        return f"scripted:{path.rpartition('/')[2]}"
    return model


def describe_agent_session(event: GuestSessionOpened) -> str:
    """Return in words which session of its own an agent works in."""
    how = "goes on in its session" if event.is_loaded else "begins its session"
    return f"the agent of {event.session} {how} {event.agent_session or '(without a name)'}"


def describe_session_event(
    event: work.SessionStarted | work.ContextFilled | work.ConversationCarriedOver | work.SessionEnded,
) -> str:
    """Return the event in words."""
    match event:
        case work.SessionStarted():
            return f"{event.role} speaks with {shorten_model_name(event.model)} ({event.session})"
        case work.ContextFilled():
            filled = f"{event.tokens:,} of {event.context_tokens:,} tokens"
            return f"session {event.session} fills its context ({filled}) and is asked for a carryover"
        case work.ConversationCarriedOver():
            author = "the harness" if event.by_harness else "the model"
            return (
                f"session {event.session} goes on in a fresh context from turn {event.turn + 1}, as {author} tells it"
            )
    return f"session {event.session} {event.exit} {event.detail}".rstrip()
