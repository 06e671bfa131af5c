"""Servers of tools as a recording has them: the same tools are offered, and answer what they answered then."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from orchestrator.agent.mcp.live_servers import add_tools
from orchestrator.agent.mcp.server_tool import ServerTool, build_server_tool
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.tools.base import ToolResult
from orchestrator.config.mcp import McpServerSettings
from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import SessionStarted, ToolCalled, ToolReturned
from orchestrator.domain.ids import SessionId, TaskId, parse_effect_name, parse_tier_task
from orchestrator.domain.mcp.tool_definition import ServerFailure, ToolDefinition, parse_definitions
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.policy import PolicyGuard
from orchestrator.replay.recording import RecordedRun
from prompts import PromptSource

_NOT_RECORDED = "The recording has no answer of the server to this call, and a replay calls no server."


@dataclass
class _RecordedAnswer:
    """The end of a call, and the questions that were put to a person during it."""

    returned: ToolReturned | None = None
    questions: list[Event] = field(default_factory=list)


class RecordedServers:
    """The servers of a recorded run; implements `ToolServers`. Nothing is started or called."""

    def __init__(self, recording: RecordedRun, settings: Sequence[McpServerSettings]) -> None:
        self._recording = recording
        self._settings = {one.name: one for one in settings}
        self._started: dict[SessionId, SessionStarted] = {}
        self._answers: dict[str, _RecordedAnswer] = {}
        self._index_events()

    @asynccontextmanager
    async def open_tools(
        self, spec: SessionSpec, ledger: Ledger, _policy: PolicyGuard, prompts: PromptSource
    ) -> AsyncIterator[SessionSpec]:
        """Return the conversation with the tools that it had in the recording."""
        started = self._started.get(spec.id)
        tools: list[ServerTool] = []
        offered = []
        for one in started.servers if started else ():
            settings = self._settings.get(one.server)
            if settings is None:
                continue
            text = await self._recording.read_text(one.tools)
            tools += self._build_tools(settings, parse_definitions(text), ledger)
            offered.append(one.model_copy(update={"tools": await ledger.store_text(text)}))
        yield add_tools(spec, tools, tuple(offered), prompts)

    def _build_tools(
        self, settings: McpServerSettings, definitions: Sequence[ToolDefinition], ledger: Ledger
    ) -> list[ServerTool]:
        async def repeat_answer(_tool: ToolDefinition, _arguments: Mapping[str, Any], call: str) -> ToolResult:
            return await self._repeat_answer(call, ledger)

        built = []
        for one in definitions:
            tool = build_server_tool(settings, one, repeat_answer)
            if tool is not None:
                built.append(tool)
        return built

    async def _repeat_answer(self, call: str, ledger: Ledger) -> ToolResult:
        answer = self._answers.get(call)
        if answer is None or answer.returned is None:
            return ToolResult(_NOT_RECORDED, is_ok=False, failure=ServerFailure.UNAVAILABLE)
        for question in answer.questions:
            if isinstance(question, ApprovalRequested) and question.approval.item not in ledger.state.approvals:
                await ledger.append(question)
        text = await self._recording.read_text(answer.returned.observation)
        return ToolResult(text, is_ok=answer.returned.ok, failure=answer.returned.failure)

    def _index_events(self) -> None:
        """Find the answers of all calls. What is asked about a task while a call of its is under way belongs to it."""
        running: dict[TaskId | None, _RecordedAnswer] = {}
        for recorded in self._recording.events:
            match recorded.event:
                case SessionStarted() as started:
                    self._started[started.session] = started
                case ToolCalled() as called if called.server:
                    running[called.task] = _RecordedAnswer()
                case ToolReturned() as returned if returned.task in running:
                    answer = running.pop(returned.task)
                    answer.returned = returned
                    self._answers[parse_effect_name(returned.key)] = answer
                case ApprovalRequested() as asked if asked.approval.matter == "policy":
                    self._note_question(asked, running)

    def _note_question(self, asked: ApprovalRequested, running: Mapping[TaskId | None, _RecordedAnswer]) -> None:
        for task, answer in running.items():
            if task == parse_tier_task(asked.approval.subject):
                answer.questions.append(asked)
