"""Events of agents of other makers: how often each was started, and the sessions that they keep by themselves."""

from orchestrator.domain.event.base import Event
from orchestrator.domain.ids import SessionId

MAX_AGENT_SESSION_CHARS = 200
"""Longest name of a session of an agent's own that is kept; a longer one counts as none."""


class GuestStarted(Event, kind="guest.started"):
    """The program of a guest is about to be started for a conversation: for the `begun`th time, counted from 1.

    It is started again where the process of an engine died; `engine` is its table in the configuration.
    """

    session: SessionId
    engine: str
    begun: int


class GuestSessionOpened(Event, kind="guest.session-opened"):
    """An agent has a session of its own open for a conversation: `agent_session`, by the agent's name for it.

    With `is_loaded` it is the session of an earlier try, which the agent says it goes on with.
    """

    session: SessionId
    agent_session: str
    is_loaded: bool = False
