"""One session of a worker over a real journal, a workspace in memory and a script, for tests of the agent loop."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.agent.carryover_report import CARRY_OVER
from orchestrator.agent.loop import run_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.base import Tool, ToolArguments, ToolResult
from orchestrator.agent.tools.files import build_edit_tool, build_read_tool, build_write_tool
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.config.layers import load_config
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.chat import Request, Role
from orchestrator.domain.event import Event
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import Handoff, Task
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.retry import RetryPolicy
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from tests.doubles.workspace import InMemoryWorkspace
from tests.loopback.builders import call, reply

API = TaskId("api")
SESSION = SessionId("work:api@1")
DONE = reply(call=[call("finish", summary="all done")])
BRIEF = "Goal: discounts in the shop. Contract: every total is rounded once. Task: api."


class CarryingModel(ScriptedModel):
    """A scripted model with a script of its own for requests for a carryover, whenever they come."""

    def __init__(self, items: Iterable[ScriptedReply], carryovers: Iterable[ScriptedReply], used: int = 0) -> None:
        super().__init__(items, {("worker", API): used})
        self._carryovers = iter(carryovers)
        self.carryover_requests: list[Request] = []

    def take_reply(self, role: Role, task: TaskId) -> tuple[int, ScriptedReply]:
        """Return the next reply of the script that the latest request is for."""
        request = self.requests[-1]
        if [tool.name for tool in request.tools] != [CARRY_OVER]:
            return super().take_reply(role, task)
        self.carryover_requests.append(request)
        item = next(self._carryovers, None)
        assert item is not None, f"turn {request.turn}: no further carryover was to be asked for"
        return 10_000 + request.turn, item


class PrintArguments(ToolArguments):
    """Arguments of `print`."""

    chars: int


def build_print_tool() -> Tool[PrintArguments]:
    """Return a tool that prints as much as is asked for."""

    async def print_characters(arguments: PrintArguments) -> ToolResult:
        line = f"line of {arguments.chars} " + "." * 50
        return ToolResult("\n".join([line] * (arguments.chars // (len(line) + 1) + 1)))

    return Tool("print", "Print.", PrintArguments, print_characters)


@dataclass
class AgentSession:
    """A journal, a workspace, and the settings of one session."""

    directory: Path
    context_tokens: int = 8_000
    max_turns: int = 500
    workspace: InMemoryWorkspace = field(default_factory=InMemoryWorkspace)

    async def open_journal(self) -> Journal:
        """Open the journal, and begin it where there is none."""
        self.journal = Journal(self.directory, SystemClock())
        if API not in self.journal.state.tasks:
            spec = Task(id=API, parent=None, depth=1, kind="leaf", title="t", outcome="o")
            await self.journal.append(TaskCreated(task=API, spec=spec))
        return self.journal

    def build_spec(self, **changes: object) -> SessionSpec:
        """Return the session; its tools are `print`, `read`, `edit`, `write` and `finish`."""
        settings = load_config(None, environ={}).config.roles.worker
        limits = {"model": "scripted:x", "context_tokens": self.context_tokens, "max_turns": self.max_turns}
        workspace = self.workspace
        spec = SessionSpec(
            id=SESSION,
            role="worker",
            task=API,
            settings=settings.model_copy(update=limits),
            prompt="p",
            system="You work.",
            brief=BRIEF,
            tools=index_tools(
                build_print_tool(),
                build_read_tool(workspace),
                build_edit_tool(workspace),
                build_write_tool(workspace),
                build_submit_tool("finish", "End.", Handoff),
            ),
            workspace=workspace,
            anchor="refs/orchestrate/x",
        )
        return replace(spec, **changes)  # type: ignore[arg-type]

    async def run(self, model: ScriptedModel, hooks: Hooks = NO_HOOKS, **changes: object) -> object:
        """Hold the session; return its result."""
        no_limit = RunBudget(BudgetSettings(usd=0, tokens=0, calls=0))
        caller = ModelCaller(model, self.journal, RetryPolicy(tries=2, base_s=0, cap_s=0), no_limit)
        return await run_session(self.build_spec(**changes), caller, self.journal, hooks)

    async def list_events(self, *kinds: type[Event]) -> list[Event]:
        """Return the session's events of some kinds."""
        recorded = await self.journal.list_session_events(SESSION)
        return [one.event for one in recorded if isinstance(one.event, kinds)]
