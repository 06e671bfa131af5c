"""Using the tools of one reply: in order, each booked before and after, stopping at the first that fails."""

from dataclasses import replace
from time import monotonic

from orchestrator.agent.history import Turn
from orchestrator.agent.hook_points import SessionHooks
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.tool_interruption import run_stoppable_tool
from orchestrator.agent.tools.base import ToolResult
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.ids import parse_effect_name
from orchestrator.domain.text.truncation import truncate_text
from orchestrator.ports.effect import record_effect
from orchestrator.ports.ledger import Ledger
from orchestrator.redact.token_patterns import has_mark

_VETOED = "Nothing was done: this project does not allow it. {}"
_UNSHOWN = (
    "Nothing was done: a [redacted:…] in this call stands for a secret that is not shown here, and would be written or "
    "run in its place. Leave such places as they are: change the lines around them, and name variables, not values."
)


class ToolExecutor:
    """The tools of one session in use."""

    def __init__(self, spec: SessionSpec, ledger: Ledger, points: SessionHooks) -> None:
        self._spec = spec
        self._ledger = ledger
        self._points = points
        self.has_mutated = False
        """Whether the last reply used a tool that may have changed the workspace."""

    @property
    def final_tool_names(self) -> str:
        """The tools that end the session, for messages."""
        return " or ".join(f"`{name}`" for name, tool in self._spec.tools.items() if tool.is_final)

    async def run_tools(self, number: int, turn: Turn) -> object:
        """Use the tools of a reply up to the first that fails or is final, and fill in what they return.

        Returns:
            the value of a final tool, or None.
        """
        self.has_mutated = False
        turn.observations.clear()
        for index, call in enumerate(turn.tool_calls):
            result = await self._use(f"tool/{self._spec.id}/{number}/{index}", number, index, call)
            turn.observations[call.id] = result.text
            turn.failed = not result.is_ok
            if turn.failed or result.final is not None:
                return result.final
        return None

    def is_malformed(self, turn: Turn) -> bool:
        """Whether nothing of a reply could be used, because its first call names no tool or does not fit it."""
        if not turn.tool_calls:
            return False
        call = turn.tool_calls[0]
        tool = self._spec.tools.get(call.name)
        return tool is None or not tool.can_parse_arguments(call.arguments)

    async def read_final_value(self, turn: Turn) -> object:
        """What the final tool of a turn accepts, without using any other tool; None if it accepts it no more."""
        for call in turn.tool_calls:
            tool = self._spec.tools.get(call.name)
            if tool and tool.is_final and (result := await tool(call.arguments)).final is not None:
                return result.final
        return None

    async def _use(self, name: str, number: int, index: int, call: ToolCall) -> ToolResult:
        key = self._ledger.build_next_key(name)
        shared = {"key": key, "task": self._spec.task, "session": self._spec.id, "turn": number, "name": call.name}
        tier, workspace = self._spec.tier(), self._spec.workspace
        if workspace:
            policy = await workspace.get_policy_hash(tier)
        else:
            policy = ""
        called = ToolCalled(
            **shared, arguments=await self._ledger.store_text(call.arguments, is_said=True), tier=tier, policy=policy
        )
        begun = monotonic()
        async with record_effect(self._ledger, called) as using:
            veto = await self._points.before_tool(number, index, call)
            if veto is None:
                result = await self._run(parse_effect_name(key), call)
            else:
                result = ToolResult(_VETOED.format(veto), is_ok=False)
            shown = replace(result, text=truncate_text(self._ledger.redact_text(result.text)).text or "[no output]")
            using.done = ToolReturned(
                **shared,
                call_id=call.id,
                ok=shown.is_ok,
                observation=await self._ledger.store_text(shown.text),
                seconds=round(monotonic() - begun, 3),
                network=shown.network,
                stray_packets=shown.stray_packets,
            )
        if veto is None:
            await self._points.after_tool(number, index, call, shown)
        return shown

    async def _run(self, name: str, call: ToolCall) -> ToolResult:
        tool = self._spec.tools.get(call.name)
        if tool is None:
            known = ", ".join(self._spec.tools)
            return ToolResult(f"there is no tool {call.name!r}; the tools are: {known}", is_ok=False)
        if tool.is_mutating and has_mark(call.arguments):
            return ToolResult(_UNSHOWN, is_ok=False)
        self.has_mutated = self.has_mutated or tool.is_mutating
        return await run_stoppable_tool(self._ledger, name, self._spec.workspace, tool(call.arguments))
