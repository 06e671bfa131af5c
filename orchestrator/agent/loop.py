"""The agent loop: ask, act, observe, until a tool ends the session or a limit does. Every exit is a value.

Everything said and done is in the ledger before the next thing happens. A session that was cut off goes on from its
last whole turn: the workspace is put back to that turn's tree, and the tools of a half-done turn run again.
A conversation that fills its context goes on in a fresh one, in the same session (`carryover_turns`).
"""

from orchestrator.agent.carryover_turns import CarryoverTurns
from orchestrator.agent.history import RestoredSession, SessionHistory, restore_opening, restore_session
from orchestrator.agent.interruption import await_reply
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.stuck_detector import StuckDetector
from orchestrator.agent.tool_execution import SessionHooks, ToolExecutor
from orchestrator.agent.turn import Turn
from orchestrator.agent.words import take_words
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
from orchestrator.ports.policy import NO_POLICY, PolicyGuard
from orchestrator.ports.roles import SessionFailure

MALFORMED_LIMIT = 5
"""Replies in a row whose tool calls cannot be read, after which a session ends."""
WARNING_TURNS = 5
"""How many turns before the last one the model is told that they run out."""
_SPEAK_THROUGH_TOOLS = "You answered in text only, which nobody reads. Use a tool; {final} ends the session."
_CUT_OFF = "Your reply was cut off at the provider's output limit. Do less in one reply: write long files in parts."
_RUNNING_OUT = "{left} replies are left in this session. Bring the work to a state that can stand, then use {final}."


async def run_session(
    spec: SessionSpec,
    asker: ModelCaller,
    ledger: Ledger,
    hooks: Hooks = NO_HOOKS,
    policy: PolicyGuard = NO_POLICY,
) -> object:
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
    session_hooks = SessionHooks(spec, hooks)
    executor = ToolExecutor(spec, ledger, session_hooks, restored.conversation, policy)
    session = _Session(spec, asker, ledger, restored, session_hooks, executor)
    if restored.ended is not None:
        return await session.rebuild_result(restored.ended, restored.detail)
    return await session.run()


async def _start_session(spec: SessionSpec, ledger: Ledger) -> SessionHistory:
    opening = await restore_opening(ledger, spec.continues, spec.until)
    await ledger.repeat_words(spec.id, None)
    words, delivered = take_words(spec, ledger)
    system, brief = ledger.redact_text(spec.system), ledger.redact_text("\n\n".join(filter(None, (spec.brief, words))))
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
        tool_chars=spec.tool_chars,
        servers=spec.servers,
    )
    await ledger.append(started, *delivered)
    return SessionHistory(system, brief, opening=opening, tool_chars=spec.tool_chars)


class _Session:
    """A session under way."""

    def __init__(
        self,
        spec: SessionSpec,
        asker: ModelCaller,
        ledger: Ledger,
        restored: RestoredSession,
        hooks: SessionHooks,
        executor: ToolExecutor,
    ) -> None:
        self._spec = spec
        self._asker = asker
        self._ledger = ledger
        self._restored = restored
        self._hooks = hooks
        self._executor = executor
        self._conversation = restored.conversation
        self._carryover = CarryoverTurns(spec, ledger, restored.conversation)
        self._stuck = StuckDetector(restored.conversation.list_current_turns())

    async def run(self) -> object:
        while True:
            result = await self._take_turn()
            if result is not None:
                return result

    async def _take_turn(self) -> object:
        """Take the next turn; return the session's result if it was the last."""
        if ended := await self._find_limit():
            return await self._end_session(*ended)
        if self._conversation.pending_ask is not None:
            return await self._take_carryover_turn()
        turn = self._restored.unfinished or await self._ask_model()
        if isinstance(turn, SessionFailure):
            return await self._end_session(turn.exit, turn.detail)
        self._restored.unfinished = None
        if turn.finish_reason == "content_filter" and not turn.tool_calls:
            return await self._end_session(Exit.REFUSED, "the provider's content filter withheld the reply")
        final = await self._executor.run_tools(len(self._conversation.turns), turn)
        failure = await self._close_turn(turn, is_final=final is not None)
        await self._hooks.after_turn(len(self._conversation.turns) - 1, self._restored.tree)
        return final or failure

    async def _take_carryover_turn(self) -> SessionFailure | None:
        """Ask for a carryover, and go on without one from the model where it will not or cannot answer that."""
        turn = self._restored.unfinished or await self._request_reply(self._carryover.spec)
        is_refused = isinstance(turn, SessionFailure)
        if isinstance(turn, SessionFailure):
            if turn.exit == Exit.OUT_OF_BUDGET:
                return await self._end_session(turn.exit, turn.detail)
            turn = Turn("", ())
        self._restored.unfinished = None
        report, tree, notice = await self._carryover.use_reply(turn), self._restored.tree, self._warn_of_end(taken=1)
        await self._carryover.close_turn(turn, report, tree, notice, is_refused=is_refused)
        await self._hooks.after_turn(len(self._conversation.turns) - 1, self._restored.tree)
        return None

    async def rebuild_result(self, ended: Exit, detail: str) -> object:
        """Return the result of a session that ended in an earlier process; final tools only look at their arguments.

        What is asked of a result may have become more since, by another version or other settings.
        """
        if ended != Exit.FINISHED:
            return SessionFailure(exit=ended, detail=detail)
        value = await self._executor.read_final_value(self._conversation.turns[-1])
        return value or SessionFailure(exit=Exit.MALFORMED, detail="what it ended with is not accepted any more")

    async def _find_limit(self) -> tuple[Exit, str] | None:
        turns, limit = self._conversation.count_replies(), self._spec.settings.max_turns
        if turns >= limit:
            return Exit.OUT_OF_TURNS, f"no result after {limit} turns"
        if self._restored.unfinished:
            return None
        ended = await self._carryover.make_room()
        if not self._conversation.list_current_turns():
            self._stuck = StuckDetector()
        return ended

    def _find_dead_end(self) -> tuple[Exit, str] | None:
        """Return how the session ends if what the model does leads nowhere."""
        if pattern := self._stuck.pattern:
            return Exit.STUCK, pattern
        latest = self._conversation.list_current_turns()[-MALFORMED_LIMIT:]
        if len(latest) == MALFORMED_LIMIT and all(map(self._executor.is_malformed, latest)):
            told = latest[-1].observations[latest[-1].tool_calls[0].id]
            return Exit.MALFORMED, f"{MALFORMED_LIMIT} replies in a row held no call that can be read; {told}"
        return None

    async def _ask_model(self) -> Turn | SessionFailure:
        if veto := await self._hooks.before_turn(len(self._conversation.turns)):
            return SessionFailure(exit=Exit.VETOED, detail=veto)
        await self._ledger.repeat_words(self._spec.id, len(self._conversation.turns), is_interruption=True)
        return await self._request_reply(self._spec, is_interruptible=True)

    async def _request_reply(self, spec: SessionSpec, *, is_interruptible: bool = False) -> Turn | SessionFailure:
        window = spec.context_tokens
        messages = self._conversation.build_messages(window, spec.reasoning_rule)
        try:
            asking = self._asker.ask_model(spec, len(self._conversation.turns), messages)
            reply = await (await_reply(spec, self._ledger, asking) if is_interruptible else asking)
        except ContextOverflow as error:
            hint = f"if the model's window is smaller than {window} tokens, set `context_tokens` of its role to that"
            return SessionFailure(exit=Exit.OUT_OF_CONTEXT, detail=f"{error} ({hint})")
        except RequestRefused as error:
            return SessionFailure(exit=Exit.REFUSED, detail=str(error))
        except OutOfBudget as error:
            return SessionFailure(exit=Exit.OUT_OF_BUDGET, detail=str(error))
        return Turn("", (), is_interrupted=True) if reply is None else Turn.from_reply(reply)

    async def _close_turn(self, turn: Turn, *, is_final: bool) -> SessionFailure | None:
        """Record a turn, together with the session's end if this was the last: nothing can come between the two."""
        number = len(self._conversation.turns)
        if self._executor.has_mutated and self._spec.workspace and self._spec.anchor:
            self._restored.tree = await self._keep_content(number, self._spec.workspace, self._spec.anchor)
        self._conversation.turns.append(turn)
        await self._ledger.repeat_words(self._spec.id, number)
        words, delivered = ("", []) if is_final else take_words(self._spec, self._ledger, number)
        turn.nudge = "" if is_final else "\n\n".join(filter(None, (self._build_nudge(turn), words)))
        whole = TurnEnded(
            task=self._spec.task,
            session=self._spec.id,
            turn=number,
            tree=self._restored.tree,
            nudge=turn.nudge,
            is_interrupted=turn.is_interrupted,
        )
        ended = (Exit.FINISHED, "") if is_final else self._find_dead_end()
        if ended:
            return await self._end_session(*ended, whole)
        self._ledger.stage_events(whole, *delivered)
        return None

    async def _keep_content(self, turn: int, workspace: Workspace, anchor: str) -> TreeId:
        """Return the workspace's content as a tree; a snapshot is taken unless nothing was written."""
        kept = self._restored.tree
        if kept is not None and await workspace.get_unchanged_tree() == kept:
            return kept
        return await self._take_snapshot(turn, workspace, anchor)

    async def _take_snapshot(self, turn: int, workspace: Workspace, anchor: str) -> TreeId:
        key = self._ledger.build_next_key(f"snapshot/{self._spec.id}/{turn}")
        shared = {"key": key, "task": self._spec.task, "session": self._spec.id, "turn": turn}
        async with record_effect(self._ledger, SnapshotTaking(**shared)) as taking:
            snapshot = await workspace.take_snapshot(f"{self._spec.id} turn {turn}", anchor, is_followed=True)
            taking.done = SnapshotTaken(**shared, tree=snapshot.tree)
        return snapshot.tree

    def _build_nudge(self, turn: Turn) -> str:
        """Return what the harness says after a turn: what leads nowhere, what went wrong, what runs out."""
        if turn.is_interrupted:
            return ""
        final = self._executor.final_tool_names
        said = [self._stuck.record_turn(turn)]
        if turn.finish_reason == "length":
            said.append(_CUT_OFF)
        elif not turn.tool_calls and not said[0]:
            said.append(_SPEAK_THROUGH_TOOLS.format(final=final))
        said.append(self._warn_of_end())
        return "\n".join(filter(None, said))

    def _warn_of_end(self, taken: int = 0) -> str:
        """Return what is said once when few turns are left; `taken` turns are over and not counted yet."""
        left = self._spec.settings.max_turns - self._conversation.count_replies() - taken
        if left != WARNING_TURNS:
            return ""
        return _RUNNING_OUT.format(left=WARNING_TURNS, final=self._executor.final_tool_names)

    async def _end_session(self, ended: Exit, detail: str, *before: Event) -> SessionFailure:
        detail = self._ledger.redact_text(detail)
        last = SessionEnded(task=self._spec.task, session=self._spec.id, exit=ended, detail=detail[:2_000])
        await self._ledger.append(*before, last)
        return SessionFailure(exit=ended, detail=detail)
