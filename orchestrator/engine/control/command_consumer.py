"""The consumer of commands from the run's inbox, which works beside the engine and records what became of each."""

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import ValidationError

from orchestrator.config.live_config import build_effective_config
from orchestrator.config.model import Config
from orchestrator.crash import crash_point
from orchestrator.domain.commands.answers import Answer, build_answer_event
from orchestrator.domain.commands.definitions import (
    Approve,
    Cancel,
    Command,
    Configure,
    HostCommand,
    InboxCommand,
    Stop,
)
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.commands.hosts import build_mark_event
from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalDecided, CommandTaken
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.validation_problems import describe_first_problem
from orchestrator.engine.goal.plan_answers import build_plan_events, explain_edit_refusal
from orchestrator.errors import Interrupted, RunCancelled, Terminated, UsageProblem
from orchestrator.journal.inbox import Inbox
from orchestrator.journal.journal import Journal

_POLL_S = 0.2

WorkWithdrawal = Callable[[Command], AbstractAsyncContextManager[None]]
"""Has stopped what was being done about the tasks that a command changes, and begins nothing while it lasts."""


class CommandConsumer:
    """Takes commands, each once, in the order in which they came."""

    def __init__(self, journal: Journal, inbox: Inbox) -> None:
        self._journal = journal
        self._inbox = inbox

    async def consume_commands(self, withdraw: WorkWithdrawal, on_change: Callable[[], None]) -> None:
        """Take commands and answer approvals whose time is over, for as long as this is awaited.

        Raises:
            Interrupted, Terminated: a person stopped the engine.
            RunCancelled: a person gave up the run; that is not recorded yet.
        """
        while True:
            for path, sent in await self._read_commands():
                if isinstance(sent.command, Cancel) and sent.command.task is None and not self._explain_refusal(sent):
                    raise RunCancelled(f"cancelled by {sent.by}")
                async with withdraw(sent.command):
                    await self._take_command(path, sent)
                on_change()
                _raise_stop(sent)
            if await self._expire_approvals():
                on_change()
            await anyio.sleep(_POLL_S)

    async def _read_commands(self) -> list[tuple[Path, InboxCommand]]:
        if self._inbox.is_empty():
            return []
        return await to_thread.run_sync(lambda: list(self._inbox.iterate_commands()))

    async def take_pending_commands(self) -> None:
        """Take what was sent while no engine lived; a stop meant for this one is left for `consume_commands`."""
        for path, sent in await to_thread.run_sync(lambda: list(self._inbox.iterate_commands())):
            if isinstance(sent.command, Stop) and sent.command.process == os.getpid():
                continue
            refusal = "the engine that it was meant for had ended" * isinstance(sent.command, Stop)
            await self._take_command(path, sent, refusal)
        await self._expire_approvals()

    async def _take_command(self, path: Path, sent: InboxCommand, refused: str = "") -> None:
        """Record a command, then remove its file: killed in between, it is only removed the next time."""
        crash_point("inbox.before-record")
        if sent.key not in self._journal.state.taken_commands:
            refused = refused or self._explain_refusal(sent)
            await self._journal.append(*_build_events(self._journal.state, sent, refused))
        crash_point("inbox.after-record")
        await to_thread.run_sync(path.unlink, True)

    def _explain_refusal(self, sent: InboxCommand) -> str:
        state = self._journal.state
        refusal = explain_refusal(state, sent.command) or _find_invalid_setting(state, sent.command)
        return refusal or explain_edit_refusal(state, sent.command)

    async def _expire_approvals(self) -> bool:
        await self._journal.record_clock_jump()
        now = self._journal.read_clock()
        decided = list[Event]()
        for pending in self._journal.state.pending_approvals:
            if pending.has_expired(now):
                item, default = pending.approval.item, pending.approval.default
                answer = ApprovalDecided(item=item, decision=default, by="expiry", reason="no answer")
                decided += [answer, *build_plan_events(self._journal.state, answer)]
        await self._journal.append(*decided)
        return bool(decided)


def _build_events(state: RunState, sent: InboxCommand, refused: str) -> list[Event]:
    events: list[Event] = [
        CommandTaken(key=sent.key, by=sent.by, sent_at=sent.at, command=sent.command, refused=refused)
    ]
    if not refused and isinstance(sent.command, Answer):
        answered = build_answer_event(state, sent.command, sent.by)
        if answered is not None:
            edited = sent.command.plan if isinstance(sent.command, Approve) else None
            events += [answered, *build_plan_events(state, answered, edited)]
    if not refused and isinstance(sent.command, HostCommand):
        events.append(build_mark_event(sent.command, sent.by))
    return events


def _find_invalid_setting(state: RunState, command: Command) -> str:
    if not isinstance(command, Configure):
        return ""
    try:
        Config.model_validate(command.settings) if command.is_all else build_effective_config(state, command.settings)
    except ValidationError as error:
        return describe_first_problem(error)
    except UsageProblem as problem:
        return str(problem)
    return ""


def _raise_stop(sent: InboxCommand) -> None:
    match sent.command:
        case Stop(how="interrupt"):
            raise Interrupted(f"stopped by {sent.by}")
        case Stop(how="terminate"):
            raise Terminated(f"stopped by {sent.by}")
