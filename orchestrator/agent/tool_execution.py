"""Using the tools of one reply: in order, each booked before and after, stopping at the first that fails.

A person may stop a tool: only what it waits for ends, and the model learns why.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from time import monotonic
from typing import Any

import anyio

from orchestrator.agent.context_size import CHARS_PER_TOKEN
from orchestrator.agent.elided_texts import has_elision_note
from orchestrator.agent.history import SessionHistory
from orchestrator.agent.interruption import is_interrupted
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.tools.argument_names import describe_other_names
from orchestrator.agent.tools.base import AnyTool, ToolResult
from orchestrator.agent.turn import Turn
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.commands.person_words import WORDS_FOLLOW
from orchestrator.domain.event.work import ToolCalled, ToolReturned
from orchestrator.domain.hooks import HookScope
from orchestrator.domain.ids import parse_effect_name
from orchestrator.domain.mcp.tool_definition import ServerFailure
from orchestrator.domain.policy.rules import PolicyActor, PolicySubject
from orchestrator.domain.text.truncation import LIMIT_CHARS, truncate_text
from orchestrator.errors import MalformedReply
from orchestrator.llm.output_parsing import parse_arguments
from orchestrator.ports.background_tasks import run_background_tasks
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import Workspace
from orchestrator.ports.hooks import HookOccurrence, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.policy import NO_POLICY, PolicyGuard
from orchestrator.redact.token_patterns import has_mark

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
        return HookOccurrence(scope, name, shared | facts, (spec.task,), view=spec.workspace, session=spec.id)


_DYING_S = 10.0
"""How long a tool has to come to its own end after what it waited for was killed."""
_VETOED = "Nothing was done: this project does not allow it. {}"
_STOPPED = "A person stopped this call"
_UNSHOWN = (
    "Nothing was done: a [redacted:…] in this call stands for a secret that is not shown here, and would be written or "
    "run in its place. Leave such places as they are: change the lines around them, and name variables, not values."
)

_ELIDED = (
    "Nothing was done: this call holds a note in the place of a text that was left out of an old step, and the note "
    "would be written or run. Read the file, and give the text itself."
)
_UNKNOWN = (
    "The engine died while this call was under way: it is not known if the server {} did what you asked, and the call "
    "was not made again. Look how things stand before you make it once more."
)
_OUTPUT_SHARE = 1 / 10
"""Share of the context that the output of one call may fill; more of it is cut in the middle."""
_TURN_OUTPUT_SHARE = 1 / 4
"""Share of the context that the outputs of one reply may fill together."""
_LEAST_OUTPUT_CHARS = 500


class ToolExecutor:
    """The tools of one session in use."""

    def __init__(
        self,
        spec: SessionSpec,
        ledger: Ledger,
        hooks: SessionHooks,
        conversation: SessionHistory,
        policy: PolicyGuard = NO_POLICY,
        *,
        heeds_words: bool = True,
    ) -> None:
        """Set up; unless it `heeds_words` the tools are used also where a person's words do not wait."""
        self._spec = spec
        self._policy = policy
        self._heeds_words = heeds_words
        self._ledger = ledger
        self._hooks = hooks
        self._conversation = conversation
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
            hint, room = self._build_name_hint(call, turn.tool_calls[:index]), self._find_output_room(turn)
            result = await self._use_tool(f"tool/{self._spec.id}/{number}/{index}", number, index, call, hint, room)
            turn.observations[call.id] = result.text
            turn.failed = not result.is_ok
            if turn.failed or result.final is not None:
                return result.final
        return None

    def is_malformed(self, turn: Turn) -> bool:
        """Return True if nothing of a reply could be used, because its first call names no tool or does not fit it."""
        if not turn.tool_calls:
            return False
        call = turn.tool_calls[0]
        tool = self._spec.tools.get(call.name)
        return tool is None or not tool.can_parse_arguments(call.arguments)

    async def read_final_value(self, turn: Turn) -> object:
        """Return what the final tool of a turn accepts, without using another tool; None if it accepts it no more."""
        for call in turn.tool_calls:
            tool = self._spec.tools.get(call.name)
            if tool and tool.is_final and (result := await tool(call.arguments)).final is not None:
                return result.final
        return None

    def _find_output_room(self, turn: Turn) -> int:
        """Return how many characters the next output may have, so that no reply can fill the context."""
        context_chars = self._spec.context_tokens * CHARS_PER_TOKEN
        room = int(context_chars * _TURN_OUTPUT_SHARE) - sum(map(len, turn.observations.values()))
        return max(_LEAST_OUTPUT_CHARS, min(LIMIT_CHARS, int(context_chars * _OUTPUT_SHARE), room))

    def _build_name_hint(self, call: ToolCall, before: Sequence[ToolCall]) -> str:
        """Return what to tell of other names that the call uses; empty where the model was told in this conversation.

        Args:
            call: the call.
            before: the calls before it in the same reply.
        """
        tool = self._spec.tools.get(call.name)
        renamed = tool.find_other_names(call.arguments) if tool else {}
        if not renamed or tool is None:
            return ""
        earlier = list(before)
        for turn in self._conversation.list_carried_turns(self._spec.context_tokens):
            earlier += [one for one in turn.tool_calls if one.id in turn.observations]
        for one in earlier:
            if one.name == call.name:
                for other in tool.find_other_names(one.arguments):
                    renamed.pop(other, None)
        if not renamed:
            return ""
        return "\n" + describe_other_names(renamed)

    async def _use_tool(self, name: str, number: int, index: int, call: ToolCall, hint: str, room: int) -> ToolResult:
        is_begun = self._ledger.state.effect_tries[name] > 0
        key, tool = self._ledger.build_next_key(name), self._spec.tools.get(call.name)
        shared = {"key": key, "task": self._spec.task, "session": self._spec.id, "turn": number, "name": call.name}
        called = ToolCalled(
            **shared,
            arguments=await self._ledger.store_text(call.arguments, is_said=True),
            tier=self._spec.tier(),
            policy=await self._get_policy_hash(),
            reach=tool and tool.reach,
            server=tool.server if tool else "",
            is_repeatable=tool is None or tool.is_repeatable,
        )
        begun = monotonic()
        async with record_effect(self._ledger, called, stages_done=called.is_repeatable) as using:
            veto, result = await self._answer_call(number, index, call, name, is_begun=is_begun)
            text = truncate_text(self._ledger.redact_text(result.text), room).text or "[no output]"
            shown = replace(result, text=text + hint)
            using.done = ToolReturned(
                **shared,
                call_id=call.id,
                ok=shown.is_ok,
                observation=await self._ledger.store_text(shown.text),
                seconds=round(monotonic() - begun, 3),
                network=shown.network,
                stray_packets=shown.stray_packets,
                program=shown.program,
                failure=shown.failure,
            )
        if veto is None:
            await self._hooks.after_tool(number, index, call, shown)
        return shown

    async def _answer_call(
        self, number: int, index: int, call: ToolCall, name: str, *, is_begun: bool
    ) -> tuple[str | None, ToolResult]:
        """Return why a tool may not be used, and its answer to the model.

        A call that a dead process began (`is_begun`) and that may not be made again gets the answer it had then.
        """
        tool = self._spec.tools.get(call.name)
        if is_begun and tool is not None and not tool.is_repeatable:
            return None, await self._find_earlier_answer(name, tool.server)
        veto = await self._find_objection(number, index, call)
        if veto is not None:
            return veto, ToolResult(veto, is_ok=False)
        return None, await self._run_tool(name, call)

    async def _find_earlier_answer(self, name: str, server: str) -> ToolResult:
        """Return what a call of an earlier process returned; that nobody knows, where the process died during it."""
        for recorded in await self._ledger.list_session_events(self._spec.id):
            event = recorded.event
            if isinstance(event, ToolReturned) and parse_effect_name(event.key) == name:
                said = await self._ledger.read_text(event.observation)
                return ToolResult(said, is_ok=event.ok, failure=event.failure)
        return ToolResult(_UNKNOWN.format(server), is_ok=False, failure=ServerFailure.UNKNOWN)

    async def _find_objection(self, number: int, index: int, call: ToolCall) -> str | None:
        """Return why a tool may not be used, in words for the model: by the policy first, then by the hooks."""
        await self._policy.take_changes()
        subjects = self._list_subjects(call) if self._policy.rule_sets else []
        if subjects:
            actor = PolicyActor(role=self._spec.role, variant=self._spec.variant)
            refusal = await self._policy.find_refusal(actor, self._spec.task, subjects)
            if refusal is not None:
                return f"Nothing was done. {refusal}"
        if refusal := await self._ask_person(call):
            return f"Nothing was done. {refusal}"
        veto = await self._hooks.before_tool(number, index, call)
        return None if veto is None else _VETOED.format(veto)

    async def _ask_person(self, call: ToolCall) -> str | None:
        """Return why a call waits for a person, besides what the policy says; None if it does not."""
        tool = self._spec.tools.get(call.name)
        question = tool.build_question(call.arguments) if tool else None
        if question is None:
            return None
        actor = PolicyActor(role=self._spec.role, variant=self._spec.variant)
        return await self._policy.ask_person(actor, self._spec.task, question)

    def _list_subjects(self, call: ToolCall) -> list[PolicySubject]:
        """Return what the policy decides about in a call; nothing where it cannot be used, or only ends the session."""
        tool = self._spec.tools.get(call.name)
        if tool is None or tool.is_final:
            return []
        path = _read_path(call, tool)
        subjects = [PolicySubject(kind="tool", name=call.name, path=path)]
        if path and tool.is_mutating:
            subjects.append(PolicySubject(kind="write", name=path))
        return subjects

    async def _get_policy_hash(self) -> str:
        if self._spec.workspace is None:
            return ""
        return await self._spec.workspace.get_policy_hash(self._spec.tier())

    async def _run_tool(self, name: str, call: ToolCall) -> ToolResult:
        tool = self._spec.tools.get(call.name)
        if tool is None:
            known = ", ".join(self._spec.tools)
            return ToolResult(f"there is no tool {call.name!r}; the tools are: {known}", is_ok=False)
        if tool.is_mutating and has_mark(call.arguments):
            return ToolResult(_UNSHOWN, is_ok=False)
        if tool.is_mutating and has_elision_note(call.arguments):
            return ToolResult(_ELIDED, is_ok=False)
        self.has_mutated = self.has_mutated or tool.is_mutating
        if self._heeds_words and is_interrupted(self._spec, self._ledger):
            return ToolResult(f"{_STOPPED}: {WORDS_FOLLOW}", is_ok=False)
        return await _run_stoppable(self._ledger, name, self._spec.workspace, tool(call.arguments, name))


def _read_path(call: ToolCall, tool: AnyTool) -> str:
    """Return the path that a call names; empty where it names none, or cannot be used anyway."""
    try:
        arguments = parse_arguments(call.arguments, tool.arguments)
    except MalformedReply:
        return ""
    path = arguments.model_dump(mode="json").get("path")
    return path if isinstance(path, str) else ""


async def _run_stoppable(
    ledger: Ledger, call: str, workspace: Workspace | None, use: Coroutine[object, object, ToolResult]
) -> ToolResult:
    """Return what a tool returns; of one that a person stops, what its command had printed by then.

    Args:
        ledger: tells when a person has it stopped. One that was stopped in an earlier process is not used again.
        call: the name of the effect, `tool/SESSION/TURN/INDEX`.
        workspace: where the session's commands run; no other session's do.
        use: the tool in use.
    """
    if call in ledger.state.stopped_calls:
        use.close()
        return ToolResult(_describe_stop(ledger, call), is_ok=False)
    result = ToolResult("")
    async with run_background_tasks() as tasks:
        tasks.start_soon(_wait_for_stop, ledger, call, workspace, tasks.cancel_scope)
        result = await use
    if call not in ledger.state.stopped_calls:
        return result
    return replace(result, text=f"{_describe_stop(ledger, call)}\n{result.text}".rstrip(), is_ok=False, final=None)


async def _wait_for_stop(ledger: Ledger, call: str, workspace: Workspace | None, scope: anyio.CancelScope) -> None:
    await ledger.wait_for_call_stop(call)
    if workspace is not None:
        await workspace.interrupt_commands()
        await anyio.sleep(_DYING_S)
    scope.cancel()


def _describe_stop(ledger: Ledger, call: str) -> str:
    if reason := ledger.state.stopped_calls.get(call):
        return f"{_STOPPED}: {reason}"
    return f"{_STOPPED}."
