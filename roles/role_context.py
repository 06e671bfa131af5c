"""The common part of the three roles: how they hold a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from orchestrator.agent.brief_room import is_too_narrow
from orchestrator.agent.context_size import CHARS_PER_TOKEN
from orchestrator.agent.loop import run_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.tool_servers import ToolServers
from orchestrator.agent.tools.base import AnyTool
from orchestrator.config.model import Config
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import TaskId
from orchestrator.ports.codebase import Codebase
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger, record_notice_once
from orchestrator.ports.policy import NO_POLICY, PolicyGuard
from orchestrator.ports.project_rules import NO_PROJECT_RULES, ProjectRules
from orchestrator.ports.roles import SessionFailure
from orchestrator.ports.tier_grants import DEFAULT_TIER_GRANTS, TierGrants
from prompts import SHIPPED_PROMPTS, PromptSource
from roles.memory_words import add_memory_words, build_memory_tools
from roles.project_words import open_with_project_words

V = TypeVar("V")


@dataclass(frozen=True)
class AgentSources:
    """The sources of what agents are told besides their task: prompts, the project's rules, its code, a field guide.

    `policy` keeps what they may do, `servers` give them tools.
    """

    prompts: PromptSource = SHIPPED_PROMPTS
    rules: ProjectRules = NO_PROJECT_RULES
    codebase: Codebase | None = None
    has_memory: bool = False
    policy: PolicyGuard = NO_POLICY
    servers: ToolServers | None = None


@dataclass(frozen=True)
class RoleContext:
    """The context of a role beside its brief."""

    config: Config
    ledger: Ledger
    asker: ModelCaller
    hooks: Hooks = NO_HOOKS
    prompts: PromptSource = SHIPPED_PROMPTS
    tier_grants: TierGrants = DEFAULT_TIER_GRANTS
    rules: ProjectRules = NO_PROJECT_RULES
    codebase: Codebase | None = None
    has_memory: bool = False
    policy: PolicyGuard = NO_POLICY
    servers: ToolServers | None = None

    def build_memory_tools(self, task: TaskId) -> list[AnyTool]:
        """Return the tools by which a conversation about a task notes something for later ones; none without memory."""
        return build_memory_tools(self.ledger, task, self.config.memory) if self.has_memory else []

    async def hold_session(
        self, spec: SessionSpec, *kinds: type[V], paths: Sequence[str] = (), heard: str | None = None
    ) -> V | SessionFailure:
        """Hold a conversation that ends with a value of one of `kinds`, or with how it ended without one.

        Its brief opens with the project's rules for the paths of its task and for `paths`. One that goes on opens with
        the user's instructions if they are others than those it has `heard`.
        """
        if self.servers is None:
            result = await self._run_session(spec, paths, heard)
        else:
            async with self.servers.open_tools(spec, self.ledger, self.policy, self.prompts) as equipped:
                result = await self._run_session(equipped, paths, heard)
        if isinstance(result, SessionFailure):
            return result
        for kind in kinds:
            if isinstance(result, kind):
                return result
        raise TypeError(f"session {spec.id} gave a {type(result).__name__}: one of its final tools makes no {kinds}")

    async def _run_session(self, spec: SessionSpec, paths: Sequence[str], heard: str | None) -> object:
        await _tell_of_narrow_window(self.ledger, spec)
        if self.has_memory:
            spec = add_memory_words(spec, self.ledger, self.prompts, self.config.memory, paths)
        spec = await self.open_with_words(spec, paths, heard)
        told = replace(spec, prompts=self.prompts)
        return await run_session(told, self.asker, self.ledger, self.hooks, self.policy)

    async def open_with_words(
        self, spec: SessionSpec, paths: Sequence[str] = (), heard: str | None = None
    ) -> SessionSpec:
        """Return a conversation whose brief opens with the project's rules and the user's instructions."""
        limit = self.config.rules.max_chars
        return await open_with_project_words(spec, self.rules, self.prompts, self.ledger, limit, paths, heard)


async def _tell_of_narrow_window(ledger: Ledger, spec: SessionSpec) -> None:
    if not is_too_narrow(spec.context_tokens, spec.fixed_chars):
        return
    tokens = spec.fixed_chars // CHARS_PER_TOKEN
    text = (
        f"the instructions and tools of a {spec.role} take about {tokens:,} of the {spec.context_tokens:,} tokens of "
        f"{spec.settings.model}, and its brief is as short as it can be: give the role a model with a larger window, "
        "or raise its context_tokens if the model has one"
    )
    await record_notice_once(ledger, Noticed(level="warning", text=text))
