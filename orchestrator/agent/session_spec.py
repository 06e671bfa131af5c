"""The specification of one conversation, before it begins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from orchestrator.agent.tools.base import AnyTool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.chat import Message, Request, Role
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.mcp.tool_definition import OfferedServer
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.llm.model_limits import find_context_tokens
from orchestrator.llm.reasoning_rules import ReasoningRule, find_strictest_rule
from orchestrator.ports.hands import Workspace
from prompts import SHIPPED_PROMPTS, PromptSource


@dataclass(frozen=True)
class SessionSpec:
    """A role's conversation about a task.

    `prompt` is the sha of the prompt it was rendered from, `continues` a session whose words it goes on from, up to
    and with turn `until` if that is given.
    `tier` tells how much its commands may reach, as it stands.
    `anchor` is the ref under which the workspace is kept after every turn; without it the workspace is only read.
    `prompts` hold what is said when the conversation is carried over into a fresh context. `variant` is that of the
    role, empty where it has none. `servers` are those whose tools are among `tools`.
    """

    id: SessionId
    role: Role
    task: TaskId
    settings: ModelSettings
    prompt: str
    system: str
    brief: str
    tools: Mapping[str, AnyTool]
    workspace: Workspace | None = None
    anchor: str | None = None
    continues: SessionId | None = None
    until: int | None = None
    tier: Callable[[], Tier] = lambda: Tier.FILES
    prompts: PromptSource = SHIPPED_PROMPTS
    variant: str = ""
    servers: tuple[OfferedServer, ...] = ()

    @cached_property
    def context_tokens(self) -> int:
        """The tokens that the conversation may take."""
        return find_context_tokens(self.settings)

    @property
    def tool_chars(self) -> int:
        """The size of the tools on offer."""
        return measure_fixed_chars("", self.tools)

    @property
    def fixed_chars(self) -> int:
        """The size of its instructions, those of the user included, and of its tools."""
        return measure_fixed_chars(self.system + self.settings.instructions, self.tools)

    @property
    def reasoning_rule(self) -> ReasoningRule:
        """The thinking that the conversation keeps, as any model asks that may have to go on with it."""
        return find_strictest_rule(settings.model for settings in self.settings.list_fallback_chain())

    def build_requests(self, turn: int, messages: tuple[Message, ...]) -> tuple[Request, ...]:
        """Return the request of one turn to each model that may answer it, the usual one first."""
        tools = tuple(tool.spec for tool in self.tools.values())
        shared = {"role": self.role, "task": self.task, "session": self.id, "turn": turn}
        return tuple(
            Request(**shared, messages=messages, tools=tools, **settings.build_request_fields())
            for settings in self.settings.list_fallback_chain()
        )


def index_tools(*tools: AnyTool) -> dict[str, AnyTool]:
    """Return the tools by name."""
    return {tool.name: tool for tool in tools}


def measure_fixed_chars(system: str, tools: Mapping[str, AnyTool]) -> int:
    """Return the characters of instructions and of the descriptions of tools, which every request has."""
    return len(system) + sum(len(tool.spec.json_text) for tool in tools.values())
