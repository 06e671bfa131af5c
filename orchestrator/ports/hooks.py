"""Lifecycle hooks as the rest of the house sees them: a moment is told, and before it happens it may be vetoed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from orchestrator.domain.hooks import HookScope
from orchestrator.domain.identity import AgentIdentity
from orchestrator.domain.ids import CommitId, SessionId, TaskId
from orchestrator.ports.hands import Workspace


@dataclass(frozen=True)
class HookOccurrence:
    """Something that is about to happen in a run, or just did.

    `name` is unique in the run for its scope and the same again after a crash. `facts` are what hooks are told beside
    the run itself, as JSON values. `span` are two commits between which the paths differ that this is about.
    `view` is what a sandboxed hook sees: a workspace that stands, or a commit; None for what has landed.
    `identity` is the agent that it is about, `session` its conversation where the run's state tells who has it.
    """

    scope: HookScope
    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    tasks: tuple[TaskId, ...] = ()
    tool: str = ""
    paths: tuple[str, ...] = ()
    span: tuple[CommitId, CommitId] | None = None
    view: Workspace | CommitId | None = None
    identity: AgentIdentity | None = None
    session: SessionId | None = None


class Hooks(Protocol):
    """Whoever is to be asked before something happens, and told after it."""

    def has_hooks_for(self, scope: HookScope) -> bool:
        """Return True if anybody is to be asked or told of such moments, where making one costs something."""

    async def find_veto(self, moment: HookOccurrence) -> str | None:
        """Return why this may not happen; None if it may.

        Raises:
            PersonNeeded: a hook wants the run to stop.
            EnvironmentProblem: a hook could not be run at all.
        """

    async def notify_after(self, moment: HookOccurrence) -> None:
        """Tell what happened, at most once, whatever comes of it."""


class NoHooks:
    """Nobody is asked and nobody is told."""

    def has_hooks_for(self, scope: HookScope) -> bool:
        """Return False."""
        return False

    async def find_veto(self, moment: HookOccurrence) -> str | None:
        """Return None: anything may happen."""
        return None

    async def notify_after(self, moment: HookOccurrence) -> None:
        """Do nothing."""


NO_HOOKS = NoHooks()
