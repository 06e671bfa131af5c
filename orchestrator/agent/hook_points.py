"""The points of one session at which hooks are asked and told: its turns and its tools."""

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.tools.base import ToolResult
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.hooks import HookScope
from orchestrator.errors import MalformedReply
from orchestrator.llm.output_parsing import parse_arguments
from orchestrator.ports.hooks import HookOccurrence, Hooks

_OBSERVATION_CHARS = 16_000


class SessionHooks:
    """A session as hooks see it."""

    def __init__(self, spec: SessionSpec, hooks: Hooks) -> None:
        self._spec = spec
        self._hooks = hooks

    async def before_turn(self, turn: int) -> str | None:
        """Return why the model may not be asked for its next reply."""
        return await self._hooks.find_veto(self._build_occurrence("turn", turn, f"{self._spec.id}/{turn}"))

    async def after_turn(self, turn: int, tree: str | None) -> None:
        """Tell hooks that all tools of a reply have returned; `tree` is the workspace's content."""
        await self._hooks.notify_after(self._build_occurrence("turn", turn, f"{self._spec.id}/{turn}", tree=tree))

    async def before_tool(self, turn: int, index: int, call: ToolCall) -> str | None:
        """Return why a tool may not be used as the model wants."""
        occurrence = self._build_tool_occurrence(turn, index, call)
        return await self._hooks.find_veto(occurrence) if occurrence else None

    async def after_tool(self, turn: int, index: int, call: ToolCall, result: ToolResult) -> None:
        """Tell hooks that a tool has been used, or refused to be."""
        told = {"ok": result.is_ok, "text": result.text[:_OBSERVATION_CHARS]}
        if occurrence := self._build_tool_occurrence(turn, index, call, result=told):
            await self._hooks.notify_after(occurrence)

    def _build_tool_occurrence(self, turn: int, index: int, call: ToolCall, **more: Any) -> HookOccurrence | None:  # noqa: ANN401
        """Return what hooks see of a call; None where nobody asks, or the tool cannot be used anyway."""
        tool = self._spec.tools.get(call.name)
        if tool is None or not self._hooks.has_hooks_for("tool"):
            return None
        try:
            arguments = parse_arguments(call.arguments, tool.arguments).model_dump(mode="json")
        except MalformedReply:
            return None
        path = arguments.get("path")
        paths = (str(PurePosixPath(path)),) if isinstance(path, str) else ()
        facts = {"name": call.name, "arguments": arguments, **more}
        occurrence = self._build_occurrence("tool", turn, f"{self._spec.id}/{turn}/{index}", tool=facts)
        return replace(occurrence, tool=call.name, paths=paths)

    def _build_occurrence(self, scope: HookScope, turn: int, name: str, **facts: object) -> HookOccurrence:
        spec = self._spec
        shared = {"session": spec.id, "role": spec.role, "model": spec.settings.model, "turn": turn}
        return HookOccurrence(scope, name, shared | facts, (spec.task,), view=spec.workspace)
