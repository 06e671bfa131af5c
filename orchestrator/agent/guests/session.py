"""A guest's conversation: its program is started, what it says becomes turns in the journal, and nothing of it is left.

No snapshot is taken while a guest is at work: its processes could change what is read meanwhile. So one that was cut
off begins its attempt again, from the files that the attempt began with.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from time import monotonic
from uuid import uuid4

import anyio

from orchestrator.agent.guests.acp_requests import RequestRules
from orchestrator.agent.guests.agent_sessions import EarlierTries, find_earlier_tries
from orchestrator.agent.guests.command_guest import CommandGuest
from orchestrator.agent.guests.pieces import Guest, GuestEnd, GuestPiece
from orchestrator.agent.guests.program import (
    GuestReach,
    build_guest_command,
    build_terminal_template,
    find_missing_credentials,
)
from orchestrator.agent.history import restore_session
from orchestrator.agent.model_calls import build_call_failure
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.agent.words import take_words
from orchestrator.config.engines import EngineSettings
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message
from orchestrator.domain.event import Done, Intent
from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.event.work import (
    ModelCalled,
    ModelReplied,
    SessionEnded,
    SessionStarted,
    SnapshotTaken,
    SnapshotTaking,
    TurnEnded,
)
from orchestrator.domain.ids import TreeId
from orchestrator.domain.policy.rules import PolicyActor
from orchestrator.domain.run.task import Exit, Handoff
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.text.truncation import truncate_text
from orchestrator.errors import EnvironmentProblem, OutOfBudget, PausedByPerson, ProgramGone, ToolRefused
from orchestrator.llm.budget import RunBudget
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import Workspace
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.policy import NO_POLICY, PolicyGuard
from orchestrator.ports.processes import ProcessPipes
from orchestrator.ports.roles import SessionFailure

_STOPPING_S = 5.0
_SUMMARY_CHARS = 4_000
_DETAIL_CHARS = 2_000
_MIB = 1024 * 1024
_NO_WORDS = "It ended without a word."
_GO_ON = (
    "You were at work on this task before, and this is your session of then. Your files may be others than you left "
    "them: look at `git status` and `git diff` before you go on. The task once more, with what has come of it since:"
)


@dataclass(frozen=True)
class GuestSpec:
    """A guest that is to work: its engine, the name of that, the conversation that it is, and the policy."""

    name: str
    engine: EngineSettings
    session: SessionSpec
    policy: PolicyGuard = NO_POLICY

    @property
    def max_turns(self) -> int:
        """The turns after which it is stopped."""
        return self.engine.max_turns or self.session.settings.max_turns

    @property
    def actor(self) -> PolicyActor:
        """The role and variant that it works as, for the policy."""
        return PolicyActor(role=self.session.role, variant=self.session.variant)

    def read_reach(self) -> GuestReach:
        """Return what it may reach as the policy stands."""
        return GuestReach(self.session.tier(), self.policy.build_host_rules(self.actor))


async def run_guest_session(spec: GuestSpec, ledger: Ledger, budget: RunBudget) -> Handoff | SessionFailure:
    """Let a guest work to its end; one that ended in an earlier process is not asked again.

    Raises:
        EnvironmentProblem: the host has no sandbox for it, or its credentials are not there.
        LimitReached: a limit of the run, or of the role, is spent.
    """
    workspace = spec.session.workspace
    if workspace is None:
        raise ValueError(f"the guest {spec.session.id} has no workspace")
    restored = await restore_session(ledger, spec.session.id)
    if restored is None:
        spec = await _start_session(spec, ledger)
    elif restored.ended is not None:
        if restored.tree is not None:
            await workspace.restore_tree(restored.tree)
        words = [turn.text for turn in restored.conversation.turns]
        return _build_result(GuestEnd(restored.ended, restored.detail), words)
    turns = 0
    if restored is not None:
        turns = len(restored.conversation.turns)
        spec = replace(spec, session=replace(spec.session, brief=restored.conversation.brief))
    earlier = await find_earlier_tries(ledger, spec.session.id, spec.session.continues, spec.name)
    return await _GuestConversation(spec, ledger, budget, workspace, turns, earlier).hold_conversation()


async def _start_session(spec: GuestSpec, ledger: Ledger) -> GuestSpec:
    """Record the beginning, and return what to begin with: what people have said so far stands in the brief."""
    words, delivered = take_words(spec.session, ledger)
    session = replace(spec.session, brief="\n\n".join(filter(None, (spec.session.brief, words))))
    started = SessionStarted(
        task=session.task,
        session=session.id,
        role=session.role,
        model=session.settings.model,
        prompt=session.prompt,
        system=await ledger.store_text(ledger.redact_text(session.system)),
        brief=await ledger.store_text(ledger.redact_text(session.brief)),
    )
    await ledger.append(started, *delivered)
    return replace(spec, session=session)


class _GuestConversation:
    """A guest's conversation under way; `turns` are those of earlier processes, `earlier` what it may go on from."""

    def __init__(
        self,
        spec: GuestSpec,
        ledger: Ledger,
        budget: RunBudget,
        workspace: Workspace,
        turns: int,
        earlier: EarlierTries,
    ) -> None:
        self._spec = spec
        self._ledger = ledger
        self._budget = budget
        self._workspace = workspace
        self._turns = turns
        self._first = turns
        self._earlier = earlier
        self._reach = GuestReach(Tier.FILES)
        self._call_id = f"guest-{uuid4().hex}"
        self._words: list[str] = []

    async def hold_conversation(self) -> Handoff | SessionFailure:
        """Start the guest, let it work, and see to it that nothing of it is left before its work is kept."""
        self._require_credentials()
        await self._spec.policy.take_changes()
        self._reach = self._spec.read_reach()
        try:
            async with self._open_program() as pipes:
                end = await self._work(pipes)
        except OutOfBudget as limit:
            end = GuestEnd(Exit.OUT_OF_BUDGET, str(limit))
        except ToolRefused as refusal:
            end = GuestEnd(Exit.GUEST_FAILED, f"the engine {self._spec.name} was not started: {refusal}", Usage())
        session, detail = self._spec.session, self._ledger.redact_text(end.detail)[:_DETAIL_CHARS]
        tree = await self._keep_content()
        last = SessionEnded(task=session.task, session=session.id, exit=end.exit, detail=detail)
        whole = TurnEnded(task=session.task, session=session.id, turn=self._turns, tree=tree)
        await self._ledger.append(whole, last)
        return _build_result(GuestEnd(end.exit, detail, end.usage), self._words)

    def _require_credentials(self) -> None:
        """Refuse to begin without what the user wants to hand over: that is no fault of the work."""
        missing = "; ".join(find_missing_credentials(self._spec.engine))
        if missing:
            name = self._spec.name
            raise EnvironmentProblem(
                f"the engine {name} cannot work: {missing}. Mend that, or change [engines.{name}], then resume the run"
            )

    @asynccontextmanager
    async def _open_program(self) -> AsyncIterator[ProcessPipes]:
        """Run the guest's program while the block lasts; it and all that it started are dead afterwards."""
        spec = self._spec
        if self._reach.tier == Tier.FILES:
            raise ToolRefused(f"the policy allows commands of a {spec.session.role} no tier")
        begun = self._earlier.starts + 1
        shared = {"task": spec.session.task, "session": spec.session.id}
        await self._ledger.append(GuestStarted(**shared, engine=spec.name, begun=begun))
        command = build_guest_command(spec.engine, self._reach)
        pipes = await self._workspace.open_process(self._call_id, command)
        try:
            yield pipes
        finally:
            with anyio.CancelScope(shield=True):
                await self._workspace.kill_command(self._call_id)

    async def _work(self, pipes: ProcessPipes) -> GuestEnd:
        spec = self._spec
        with anyio.move_on_after(spec.engine.timeout_s):
            guest = await self._begin(pipes)
            if isinstance(guest, GuestEnd):
                return guest
            try:
                return await self._record_turns(guest)
            finally:
                with anyio.CancelScope(shield=True):
                    await guest.end_commands()
        return GuestEnd(Exit.OUT_OF_TIME, f"the engine {spec.name} was not done after {spec.engine.timeout_s:g} s")

    async def _record_turns(self, guest: Guest) -> GuestEnd:
        """Record what a guest says until it ends, or has to."""
        spec = self._spec
        while True:
            piece = await self._record_turn(guest)
            if piece.end is not None:
                return piece.end
            if self._turns - self._first >= spec.max_turns:
                await self._stop(guest)
                return GuestEnd(Exit.OUT_OF_TURNS, f"the engine {spec.name} was stopped after {spec.max_turns} turns")

    async def _begin(self, pipes: ProcessPipes) -> Guest | GuestEnd:
        """Start the conversation; return how it failed if it did."""
        spec = self._spec
        prompt = "\n\n".join(filter(None, (spec.session.system, spec.session.brief)))
        if spec.engine.protocol == "command":
            program = CommandGuest(spec.engine, spec.name, self._workspace, self._call_id, pipes)
            await program.hand_over_task(prompt)
            return program
        from orchestrator.agent.guests.acp_guest import AcpGuest, AgentGrants  # their package takes long to load

        rules = RequestRules(spec.actor, spec.session.task, self._reach.tier, spec.policy)
        grants = AgentGrants(rules, build_terminal_template(spec.engine, self._reach), spec.engine.output_mb * _MIB)
        agent = AcpGuest(spec.name, self._workspace, pipes, grants)
        failure = await agent.open_session(self._earlier.agent_session)
        if failure is not None:
            return failure
        shared = {"task": spec.session.task, "session": spec.session.id, "is_loaded": agent.is_loaded}
        await self._ledger.append(GuestSessionOpened(**shared, agent_session=agent.agent_session))
        failure = await agent.give_task(f"{_GO_ON}\n\n{prompt}" if agent.is_loaded else prompt)
        return failure or agent

    async def _stop(self, guest: Guest) -> None:
        """Ask a guest to stop, and leave it a moment for that."""
        with anyio.move_on_after(_STOPPING_S), suppress(ProgramGone):
            await guest.ask_to_stop()
            while (await guest.read_piece()).end is None:
                pass

    async def _record_turn(self, guest: Guest) -> GuestPiece:
        """Record what the guest says next as a turn; a call of a model is what stands for that in the journal."""
        session, begun = self._spec.session, monotonic()
        self._require_going()
        messages = () if self._words else (Message(role="user", text=session.brief),)
        request = session.build_requests(self._turns, messages)[0]
        reserved = await self._budget.reserve_call(self._ledger.state, request, None)
        try:
            return await self._take_turn(guest, reserved, begun)
        finally:
            self._budget.settle_call()

    async def _take_turn(self, guest: Guest, reserved: Usage, begun: float) -> GuestPiece:
        session = self._spec.session
        shared = {"task": session.task, "session": session.id, "turn": self._turns, "role": session.role}
        key = self._ledger.build_next_key(f"model/{session.id}/{self._turns}")
        called = ModelCalled(key=key, **shared, model=session.settings.model, prompt=session.prompt, reserved=reserved)
        async with record_effect(self._ledger, called, lost=_build_lost) as asking:
            piece = await guest.read_piece()
            asking.done = ModelReplied(
                key=key,
                **shared,
                model=session.settings.model,
                text=await self._ledger.store_text(self._ledger.redact_text(piece.text)),
                tool_calls=(),
                finish_reason="stop" if piece.end else "",
                usage=piece.end.usage if piece.end else Usage(),
                seconds=round(monotonic() - begun, 3),
            )
        self._words.append(piece.text)
        if piece.end is None:
            self._ledger.stage_events(TurnEnded(task=session.task, session=session.id, turn=self._turns, tree=None))
            self._turns += 1
        return piece

    def _require_going(self) -> None:
        """Refuse to go on while a person has paused the run."""
        state = self._ledger.state
        if state.user_pause is not None:
            raise PausedByPerson(f"{state.user_pause}; go on with: orchestrate continue {state.run.run}")

    async def _keep_content(self) -> TreeId | None:
        """Return the workspace's content as a tree, once nothing of the guest is alive."""
        session = self._spec.session
        if session.anchor is None:
            return None
        key = self._ledger.build_next_key(f"snapshot/{session.id}/{self._turns}")
        shared = {"key": key, "task": session.task, "session": session.id, "turn": self._turns}
        async with record_effect(self._ledger, SnapshotTaking(**shared)) as taking:
            snapshot = await self._workspace.take_snapshot(f"{session.id} turn {self._turns}", session.anchor)
            taking.done = SnapshotTaken(**shared, tree=snapshot.tree)
        return snapshot.tree


def _build_lost(intent: Intent, reason: str) -> Done:
    if not isinstance(intent, ModelCalled):
        raise TypeError(f"{intent.kind} is no model call")
    return build_call_failure(intent, "lost", f"{reason}; it may have been billed")


def _build_result(end: GuestEnd, words: list[str]) -> Handoff | SessionFailure:
    """Return the report that stands for a guest's last words; they are a claim, and never shown to a reviewer."""
    if end.exit != Exit.FINISHED:
        return SessionFailure(exit=end.exit, detail=end.detail)
    said = "".join(words).strip()
    return Handoff(summary=truncate_text(said[-4 * _SUMMARY_CHARS :], _SUMMARY_CHARS).text or _NO_WORDS)
