"""The agent loop: ask, act, observe, until a tool ends the session or a limit does. Every exit is a value.

Everything said and done is in the ledger before the next thing happens. A session that was cut off goes on from its
last whole turn: the workspace is put back to that turn's tree, and the tools of a half-done turn run again.
"""

from collections.abc import Sequence

from orchestrator.agent.history import RestoredSession, SessionHistory, Turn, restore_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.stuck_detector import StuckDetector
from orchestrator.agent.tool_execution import SessionHooks, ToolExecutor
from orchestrator.domain.chat import Message
from orchestrator.domain.event import Event
from orchestrator.domain.event.work import SessionEnded, SessionStarted, SnapshotTaken, SnapshotTaking, TurnEnded
from orchestrator.domain.ids import TreeId
from orchestrator.domain.run.task import Exit
from orchestrator.errors import OutOfBudget
from orchestrator.llm.errors import ContextOverflow, RequestRefused
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import Workspace
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.roles import SessionFailure

RESTART_SHARE = 0.8
"""Share of the context at which a session ends: the next try begins with a fresh one."""
MALFORMED_LIMIT = 5
"""Replies in a row whose tool calls cannot be read, after which a session ends."""
WARNING_TURNS = 5
"""How many turns before the last one the model is told that they run out."""
_SPEAK_THROUGH_TOOLS = "You answered in text only, which nobody reads. Use a tool; {final} ends the session."
_CUT_OFF = "Your reply was cut off at the provider's output limit. Do less in one reply: write long files in parts."
_RUNNING_OUT = "{left} replies are left in this session. Bring the work to a state that can stand, then use {final}."


async def run_session(spec: SessionSpec, asker: ModelCaller, ledger: Ledger, hooks: Hooks = NO_HOOKS) -> object:
    """Hold a conversation to its end, or go on with it where it was cut off.

    Returns:
        the value that a final tool accepted, or a SessionResult that says how the session ended without one.

    Raises:
        LimitReached, ProviderDown, ModelError: no model can be asked now; the session can go on later.
    """
    restored = await restore_session(ledger, spec.id)
    if restored is None:
        restored = RestoredSession(await _start_session(spec, ledger))
    if restored.tree and spec.workspace:
        await spec.workspace.restore_tree(restored.tree)
    session = _Session(spec, asker, ledger, restored, SessionHooks(spec, hooks))
    if restored.ended is not None:
        return await session.rebuild_result(restored.ended, restored.detail)
    return await session.run()


async def _start_session(spec: SessionSpec, ledger: Ledger) -> SessionHistory:
    before = await restore_session(ledger, spec.continues, spec.until) if spec.continues else None
    system, brief = ledger.redact_text(spec.system), ledger.redact_text(spec.brief)
    started = SessionStarted(
        task=spec.task,
        session=spec.id,
        role=spec.role,
        model=spec.settings.model,
        prompt=spec.prompt,
        system=await ledger.store_text(system),
        brief=await ledger.store_text(brief),
        continues=spec.continues,
        turn=spec.until,
    )
    await ledger.append(started)
    return SessionHistory(system, brief, opening=before.conversation if before else None)


class _Session:
    """A session under way."""

    def __init__(
        self, spec: SessionSpec, asker: ModelCaller, ledger: Ledger, restored: RestoredSession, hooks: SessionHooks
    ) -> None:
        self._spec = spec
        self._asker = asker
        self._ledger = ledger
        self._restored = restored
        self._hooks = hooks
        self._executor = ToolExecutor(spec, ledger, hooks, restored.conversation)
        self._stuck = StuckDetector(restored.conversation.turns)

    async def run(self) -> object:
        while True:
            messages = self._restored.conversation.build_messages(self._spec.context_tokens, self._spec.reasoning_rule)
            if ended := self._find_limit(messages):
                return await self._end_session(*ended)
            turn = self._restored.unfinished or await self._ask_model(messages)
            if isinstance(turn, SessionFailure):
                return await self._end_session(turn.exit, turn.detail)
            self._restored.unfinished = None
            if turn.finish_reason == "content_filter" and not turn.tool_calls:
                return await self._end_session(Exit.REFUSED, "the provider's content filter withheld the reply")
            final = await self._executor.run_tools(len(self._restored.conversation.turns), turn)
            result = await self._close_turn(turn, is_final=final is not None)
            await self._hooks.after_turn(len(self._restored.conversation.turns) - 1, self._restored.tree)
            if result:
                if final is None:
                    return result
                return final

    async def rebuild_result(self, ended: Exit, detail: str) -> object:
        """Return the result of a session that ended in an earlier process; final tools only look at their arguments.

        What is asked of a result may have become more since, by another version or other settings.
        """
        if ended != Exit.FINISHED:
            return SessionFailure(exit=ended, detail=detail)
        value = await self._executor.read_final_value(self._restored.conversation.turns[-1])
        return value or SessionFailure(exit=Exit.MALFORMED, detail="what it ended with is not accepted any more")

    def _find_limit(self, messages: Sequence[Message]) -> tuple[Exit, str] | None:
        turns, limit = len(self._restored.conversation.turns), self._spec.settings.max_turns
        if turns >= limit:
            return Exit.OUT_OF_TURNS, f"no result after {limit} turns"
        window, rule = self._spec.context_tokens, self._spec.reasoning_rule
        used = self._restored.conversation.count_tokens(messages, window, rule)
        if used > window * RESTART_SHARE:
            return Exit.OUT_OF_CONTEXT, f"the conversation fills {used:.0f} tokens of the model's context"
        return None

    def _find_dead_end(self) -> tuple[Exit, str] | None:
        """Return how the session ends if what the model does leads nowhere."""
        if pattern := self._stuck.pattern:
            return Exit.STUCK, pattern
        latest = self._restored.conversation.turns[-MALFORMED_LIMIT:]
        if len(latest) == MALFORMED_LIMIT and all(map(self._executor.is_malformed, latest)):
            told = latest[-1].observations[latest[-1].tool_calls[0].id]
            return Exit.MALFORMED, f"{MALFORMED_LIMIT} replies in a row held no call that can be read; {told}"
        return None

    async def _ask_model(self, messages: tuple[Message, ...]) -> Turn | SessionFailure:
        if veto := await self._hooks.before_turn(len(self._restored.conversation.turns)):
            return SessionFailure(exit=Exit.VETOED, detail=veto)
        try:
            reply = await self._asker.ask_model(self._spec, len(self._restored.conversation.turns), messages)
        except ContextOverflow as error:
            window = self._spec.context_tokens
            hint = f"if the model's window is smaller than {window} tokens, set `context_tokens` of its role to that"
            return SessionFailure(exit=Exit.OUT_OF_CONTEXT, detail=f"{error} ({hint})")
        except RequestRefused as error:
            return SessionFailure(exit=Exit.REFUSED, detail=str(error))
        except OutOfBudget as error:
            return SessionFailure(exit=Exit.OUT_OF_BUDGET, detail=str(error))
        return Turn.from_reply(reply)

    async def _close_turn(self, turn: Turn, *, is_final: bool) -> SessionFailure | None:
        """Record a turn, together with the session's end if this was the last: nothing can come between the two."""
        number = len(self._restored.conversation.turns)
        if self._executor.has_mutated and self._spec.workspace and self._spec.anchor:
            self._restored.tree = await self._take_snapshot(number, self._spec.workspace, self._spec.anchor)
        self._restored.conversation.turns.append(turn)
        turn.nudge = "" if is_final else self._build_nudge(turn)
        whole = TurnEnded(
            task=self._spec.task, session=self._spec.id, turn=number, tree=self._restored.tree, nudge=turn.nudge
        )
        ended = (Exit.FINISHED, "") if is_final else self._find_dead_end()
        if ended:
            return await self._end_session(*ended, whole)
        await self._ledger.append(whole)
        return None

    async def _take_snapshot(self, turn: int, workspace: Workspace, anchor: str) -> TreeId:
        key = self._ledger.build_next_key(f"snapshot/{self._spec.id}/{turn}")
        shared = {"key": key, "task": self._spec.task, "session": self._spec.id, "turn": turn}
        async with record_effect(self._ledger, SnapshotTaking(**shared)) as taking:
            snapshot = await workspace.take_snapshot(f"{self._spec.id} turn {turn}", anchor)
            taking.done = SnapshotTaken(**shared, tree=snapshot.tree)
        return snapshot.tree

    def _build_nudge(self, turn: Turn) -> str:
        """Return what the harness says after a turn: what leads nowhere, what went wrong, what runs out."""
        final, limit = self._executor.final_tool_names, self._spec.settings.max_turns
        said = [self._stuck.record_turn(turn)]
        if turn.finish_reason == "length":
            said.append(_CUT_OFF)
        elif not turn.tool_calls and not said[0]:
            said.append(_SPEAK_THROUGH_TOOLS.format(final=final))
        if limit - len(self._restored.conversation.turns) == WARNING_TURNS:
            said.append(_RUNNING_OUT.format(left=WARNING_TURNS, final=final))
        return "\n".join(filter(None, said))

    async def _end_session(self, ended: Exit, detail: str, *before: Event) -> SessionFailure:
        detail = self._ledger.redact_text(detail)
        last = SessionEnded(task=self._spec.task, session=self._spec.id, exit=ended, detail=detail[:2_000])
        await self._ledger.append(*before, last)
        return SessionFailure(exit=ended, detail=detail)
