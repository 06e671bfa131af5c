"""A server's part in one conversation: its pin is held against what it offers, and its answers are bounded."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from anyio import to_thread

from orchestrator.agent.mcp.connection import ServerConnection
from orchestrator.agent.mcp.pin_file import PinFile, ServerPin, merge_tools
from orchestrator.agent.mcp.server_limits import ServerProblem
from orchestrator.agent.mcp.server_tool import ServerTool, build_server_tool
from orchestrator.agent.tools.base import ToolResult
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import TaskId, build_approval_item, build_policy_subject
from orchestrator.domain.mcp.tool_definition import (
    ServerFailure,
    ToolDefinition,
    ToolDifference,
    compare_tools,
    digest_tools,
)
from orchestrator.domain.policy.decision import PolicyDecision
from orchestrator.domain.policy.questions import PolicyQuestion, digest_question
from orchestrator.domain.policy.rules import PolicyActor, PolicySubject
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import ToolRefused
from orchestrator.ports.ledger import Ledger, record_notice_once
from orchestrator.ports.policy import PolicyGuard
from prompts import fence_text

_CHANGED = "its tools are not as they were pinned"
_NO_ANSWER = "The server {server} gave no answer: {problem}. {known} Go on without it if you can."
_NOT_SENT = "The tool was not used."
_UNKNOWN = "It is not known if it did what you asked."
_GONE = "Nothing was done: the server {server} does not have this tool any more. Do without it."
_MAX_LINES = 40
_UNSENT_FAILURES = frozenset({ServerFailure.UNAVAILABLE})


class SessionServer:
    """One server in the conversation of one agent."""

    def __init__(
        self,
        connection: ServerConnection,
        pin_file: PinFile,
        ledger: Ledger,
        policy: PolicyGuard,
        actor: PolicyActor,
        task: TaskId,
    ) -> None:
        self._connection = connection
        self._settings = connection.settings
        self._pin_file = pin_file
        self._ledger = ledger
        self._policy = policy
        self._actor = actor
        self._task = task
        self._pin = ServerPin(())
        self._seen: tuple[ToolDefinition, ...] | None = None
        self._held: tuple[ToolDifference, ...] = ()

    @property
    def name(self) -> str:
        """The name of the server."""
        return self._settings.name

    async def find_definitions(self) -> tuple[ToolDefinition, ...]:
        """Return the pinned definitions that the role may use; the first sight of a server starts and pins it."""
        pin = await to_thread.run_sync(self._pin_file.read_pin)
        self._pin = pin or self._pin
        if pin is None:
            pin = await self._pin_first_sight()
        elif pin.proposed and self._is_approved(self._compare(pin, pin.proposed)):
            pin = await self._renew_pin(pin, pin.proposed)
        self._pin = pin
        return tuple(filter(self._is_allowed, pin.tools))

    async def build_tools(self) -> list[ServerTool]:
        """Return the tools that a conversation is offered."""
        built = (build_server_tool(self._settings, one, self.answer_call) for one in await self.find_definitions())
        return list(filter(None, built))

    async def answer_call(self, tool: ToolDefinition, arguments: dict[str, Any], _call: str) -> ToolResult:
        """Use a tool, unless it is not the one that was pinned; whatever a server does becomes a result."""
        is_sent = False
        try:
            refusal = await self._check_tool(tool)
            if refusal is not None:
                return refusal
            is_sent = True
            answer = await self._connection.call_tool(tool.name, arguments)
        except ServerProblem as problem:
            return await self._describe_problem(problem, is_sent)
        except ToolRefused as refusal_text:
            return ToolResult(str(refusal_text), is_ok=False, failure=ServerFailure.UNAVAILABLE)
        finally:
            await self._tell_of_requests()
        limit = self._settings.output_chars
        text = answer.text[:limit]
        if len(answer.text) > limit:
            text += f"\n[left out: all beyond {limit:,} characters]"
        return ToolResult(fence_text(self.name, text), is_ok=not answer.is_error)

    async def _pin_first_sight(self) -> ServerPin:
        try:
            seen = await self._connection.list_tools()
        except (ServerProblem, ToolRefused) as problem:
            await self._tell(ServerFailure.UNAVAILABLE, f"its tools are not offered: {problem}")
            return ServerPin(())
        self._seen = seen
        pin = ServerPin(merge_tools((), seen))
        await to_thread.run_sync(self._pin_file.write_pin, pin)
        return pin

    async def _check_tool(self, tool: ToolDefinition) -> ToolResult | None:
        """Return why a tool may not be used; None if the server has it as it is pinned."""
        if not self._connection.is_open or self._seen is None:
            await self._look_again()
        if any(one.name == tool.name for one in self._held):
            refusal = await self._ask_about_changes()
            if refusal is not None:
                return ToolResult(refusal, is_ok=False, failure=ServerFailure.WITHHELD)
        if not any(one.name == tool.name for one in self._seen or ()):
            return ToolResult(_GONE.format(server=self.name), is_ok=False, failure=ServerFailure.REFUSED)
        return None

    async def _look_again(self) -> None:
        """Start the server, and hold what it offers against the pin; whatever differs is withheld and asked about."""
        self._seen = await self._connection.list_tools()
        stored = await to_thread.run_sync(self._pin_file.read_pin)
        self._pin = stored or self._pin
        self._held = self._compare(self._pin, self._seen)
        if self._held:
            if self._pin.proposed != self._seen:
                self._pin = ServerPin(self._pin.tools, self._seen)
                await to_thread.run_sync(self._pin_file.write_pin, self._pin)
            await self._ask_about_changes()

    def _compare(self, pin: ServerPin, seen: Sequence[ToolDefinition]) -> tuple[ToolDifference, ...]:
        return compare_tools(pin.tools, tuple(filter(self._is_allowed, seen)))

    def _is_allowed(self, tool: ToolDefinition) -> bool:
        return any(fnmatchcase(tool.name, glob) for glob in self._settings.tools)

    async def _ask_about_changes(self) -> str | None:
        """Ask a person about what differs; renew the pin and return None once one has approved of it."""
        names = ", ".join(f"{one.name} ({one.kind})" for one in self._held)
        text = f"the server {self.name} offers other tools than were pinned, which are withheld: {names}"
        code = NoticeCode.MCP_CHANGED
        notice = Noticed(level="warning", text=to_one_line(text), code=code, subject=self._build_question().about)
        await record_notice_once(self._ledger, notice)
        refusal = await self._policy.ask_person(self._actor, self._task, self._build_question())
        if refusal is None:
            self._pin = await self._renew_pin(self._pin, self._seen or ())
            self._held = ()
        return refusal

    def _build_question(self, held: Sequence[ToolDifference] | None = None) -> PolicyQuestion:
        differences = self._held if held is None else held
        lines = list(_list_lines(differences))
        seen = self._pin.proposed if self._seen is None else self._seen
        about = digest_tools([tool for tool in seen if self._is_allowed(tool)])
        rule = PolicyDecision(effect="ask", place=f"[[mcp]] {self.name}", reason=_CHANGED)
        subject = PolicySubject(kind="mcp", name=self.name)
        return PolicyQuestion(subject=subject, decision=rule, about=about, detail=tuple(lines[:_MAX_LINES]))

    def _is_approved(self, differences: Sequence[ToolDifference]) -> bool:
        """Return True if a person has approved of what was proposed in an earlier conversation of the task."""
        question = self._build_question(differences)
        digest = digest_question(self._actor, question.subject, question.about)
        answer = self._ledger.state.approvals.get(
            build_approval_item("policy", build_policy_subject(self._task, digest))
        )
        return answer is not None and answer.decision == "approve"

    async def _renew_pin(self, pin: ServerPin, seen: Sequence[ToolDefinition]) -> ServerPin:
        renewed = ServerPin(merge_tools(pin.tools, tuple(filter(self._is_allowed, seen))))
        await to_thread.run_sync(self._pin_file.write_pin, renewed)
        return renewed

    async def _describe_problem(self, problem: ServerProblem, is_sent: bool) -> ToolResult:
        await self._tell(problem.failure, str(problem))
        known = _UNKNOWN if is_sent and problem.failure not in _UNSENT_FAILURES else _NOT_SENT
        text = _NO_ANSWER.format(server=self.name, problem=problem, known=known)
        return ToolResult(text, is_ok=False, failure=problem.failure)

    async def _tell_of_requests(self) -> None:
        if self._connection.requests:
            text = "it asked for more than a server gets here (a model's reply, a person's answer or folders): refused"
            await self._tell(ServerFailure.REFUSED, text)

    async def _tell(self, failure: ServerFailure, text: str) -> None:
        said = to_one_line(self._ledger.redact_text(f"the MCP server {self.name}: {text}"))
        subject = f"{self.name}/{failure}"
        await record_notice_once(
            self._ledger, Noticed(level="warning", text=said, code=NoticeCode.MCP_TROUBLE, subject=subject)
        )


def _list_lines(differences: Sequence[ToolDifference]) -> Iterator[str]:
    for one in differences:
        yield from one.lines
