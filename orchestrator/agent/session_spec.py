"""What one conversation consists of before it begins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orchestrator.agent.tools.base import AnyTool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.chat import Message, Request, Role
from orchestrator.domain.ids import SessionId, TaskId, build_run_ref, format_task_ref
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.ports.hands import Workspace


@dataclass(frozen=True)
class SessionSpec:
    """A role's conversation about a task.

    `prompt` is the sha of the prompt it was rendered from, `continues` a session whose words it goes on from, up to
    and with turn `until` if that is given.
    `tier` tells how much its commands may reach, as it stands.
    `anchor` is the ref under which the workspace is kept after every turn; without it the workspace is only read.
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

    def build_requests(self, turn: int, messages: tuple[Message, ...]) -> tuple[Request, ...]:
        """The request of one turn to each model that may answer it, the usual one first."""
        return tuple(self._request(settings, turn, messages) for settings in self.settings.list_fallback_chain())

    def _request(self, settings: ModelSettings, turn: int, messages: tuple[Message, ...]) -> Request:
        """Settings that are not set stay the provider's."""
        return Request(
            role=self.role,
            task=self.task,
            session=self.id,
            turn=turn,
            model=settings.model,
            messages=messages,
            tools=tuple(tool.spec for tool in self.tools.values()),
            api_base=settings.api_base or None,
            api_key_env=settings.api_key_env or None,
            temperature=settings.temperature if settings.temperature >= 0 else None,
            max_output_tokens=settings.max_output_tokens or None,
            timeout_s=settings.timeout_s,
            stall_timeout_s=settings.stall_timeout_s,
        )


def index_tools(*tools: AnyTool) -> dict[str, AnyTool]:
    """Tools by name."""
    return {tool.name: tool for tool in tools}


def build_anchor_ref(run: str, task: TaskId, name: str) -> str:
    """Where a session's workspace is kept while it runs."""
    return build_run_ref(run, "wip", format_task_ref(task), name)
