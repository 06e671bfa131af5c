"""The line above the keys: commands in words, held for some seconds in which they can be taken back, then sent once."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, cast

from orchestrator.domain.commands import definitions as commands
from orchestrator.domain.commands.answers import Answer
from orchestrator.domain.commands.definitions import Command, HostCommand, Pause, Stop, StopCall, Tell
from orchestrator.domain.ids import QuestionId
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import OrchestrateError
from orchestrator.tui.widgets.styled_line import StyledLine

if TYPE_CHECKING:
    from orchestrator.tui.app import Dashboard

DANGEROUS_COMMANDS = (commands.Cancel, commands.Stop, commands.StopCall, commands.RollbackShards)
"""Commands that end or take back what somebody waits for."""
_TARGET_FIELDS = ("item", "task", "session", "files", "shard", "shards", "groups", "id", "host")
"""The fields that say what a command is about; each has at most one."""
_WHOLE: Mapping[type[Command], str] = {commands.Cancel: "the whole run", commands.Publish: "all groups"}
_MAX_NAMES = 3
_NOTE_CHARS = 60
_CONSEQUENCES: Mapping[type[Command], str] = {
    commands.Cancel: "what landed stays",
    commands.StopCall: "its command ends, the agent is told and goes on",
    commands.RollbackShards: "by one more commit, tested first",
    commands.Drain: "it leaves when its last workspace is closed",
}


def is_dangerous(command: Command) -> bool:
    """Return True if a person has to confirm the command."""
    return isinstance(command, DANGEROUS_COMMANDS)


def describe_command(command: Command, question_ids: Mapping[str, QuestionId] = {}) -> str:
    """Return the command in words, as `retry parser (look at x)`; `question_ids` are the short names of questions."""
    words = [_get_verb(command), _describe_target(command)]
    if isinstance(command, Answer) and command.item in question_ids:
        words.insert(1, str(question_ids[command.item]))
    if note := to_one_line(getattr(command, "reason", "") or getattr(command, "note", ""), _NOTE_CHARS):
        words.append(f"({note})")
    if isinstance(command, commands.Approve) and command.plan is not None:
        words.append("as edited")
    if isinstance(command, commands.SendBack) and command.comments:
        words.append(f"with {format_count(len(command.comments), 'commented line')}")
    return " ".join(filter(None, words))


def describe_with_consequence(command: Command) -> str:
    """Return the command with what follows from it, as `cancel parser: what landed stays`."""
    return ": ".join(filter(None, (describe_command(command), _CONSEQUENCES.get(type(command)))))


def _get_verb(command: Command) -> str:
    """Return the verb of a command: `retry-files` is `retry` to people."""
    if isinstance(command, commands.Stop):
        return command.how
    return re.sub("-(files|shards?|host)$", "", command.do)


def _describe_target(command: Command) -> str:
    if isinstance(command, commands.AddCriterion):
        return f"{command.criterion.id}: {command.criterion.text}"
    if isinstance(command, commands.Retry) and command.turn is not None:
        return f"{command.task} from turn {command.turn}"
    for name in _TARGET_FIELDS:
        target = getattr(command, name, None)
        if isinstance(target, str):
            return target
        if target:
            return join_limited(target, _MAX_NAMES)
    return _WHOLE.get(type(command), "")


UNDO_WINDOW_S = 5.0
SendCommand = Callable[[Command], str]


@dataclass(frozen=True)
class PendingCommand:
    """A command with what it does in words, when it is to be sent, and with which others it was given."""

    command: Command
    description: str
    due_at: float
    batch: int


@dataclass(frozen=True)
class CommandOutcome:
    """The outcome of a command; `is_problem` if it was refused or not sent."""

    message: str
    is_problem: bool = False


class UndoQueue:
    """Holds commands for `held_s` seconds by the caller's clock. A command that is on its way is not taken twice."""

    def __init__(self, send: SendCommand, held_s: float = UNDO_WINDOW_S) -> None:
        """`send` gives the key under which a command lies in the inbox; it raises OrchestrateError."""
        self._send, self._held_s = send, held_s
        self._held: list[PendingCommand] = []
        self._sent: dict[str, PendingCommand] = {}
        self._batches = 0

    @property
    def held_commands(self) -> tuple[PendingCommand, ...]:
        """Commands that can still be taken back, oldest first."""
        return tuple(self._held)

    @property
    def sent_commands(self) -> tuple[PendingCommand, ...]:
        """Commands that were sent and no engine has taken yet."""
        return tuple(self._sent.values())

    def hold_commands(self, commands: Sequence[tuple[Command, str]], now: float) -> int:
        """Hold commands, with their words, as one batch.

        Returns:
            how many of them are new: neither held already, nor sent without any engine having taken them yet.
        """
        self._batches += 1
        before = len(self._held)
        for command, words in commands:
            if command not in map(attrgetter("command"), (*self._held, *self._sent.values())):
                self._held.append(PendingCommand(command, words, now + self._held_s, self._batches))
        return len(self._held) - before

    def undo_last_batch(self) -> list[PendingCommand]:
        """Remove and return the batch that was held last, so that it is never sent."""
        if not self._held:
            return []
        newest = self._held[-1].batch
        undone = [one for one in self._held if one.batch == newest]
        self._held = [one for one in self._held if one.batch != newest]
        return undone

    def send_due_commands(self, now: float) -> list[CommandOutcome]:
        """Send what has been held for long enough."""
        return self._send_all([one for one in self._held if one.due_at <= now])

    def flush_commands(self) -> list[CommandOutcome]:
        """Send all that is held, at once."""
        return self._send_all(list(self._held))

    def _send_all(self, due: list[PendingCommand]) -> list[CommandOutcome]:
        """Remove each command before it is sent: whatever happens then, it is not sent twice."""
        outcomes = []
        for one in due:
            self._held.remove(one)
            try:
                self._sent[self._send(one.command)] = one
            except OrchestrateError as problem:
                outcomes.append(CommandOutcome(f"{one.description}: not sent: {problem}", is_problem=True))
        return outcomes

    def collect_outcomes(self, state: RunState) -> list[CommandOutcome]:
        """Return what engines have made of sent commands, each outcome once."""
        outcomes = []
        for key in [key for key in self._sent if key in state.taken_commands]:
            words, refusal = self._sent.pop(key).description, state.taken_commands[key]
            result = f"refused: {refusal}" if refusal else "taken"
            outcomes.append(CommandOutcome(f"{words}: {result}", is_problem=bool(refusal)))
        return outcomes


_TICK_S = 1 / 4
_WAKE_S = 20.0
"""Until a command is taken, an engine is looked for so often; one needs some seconds to come up."""
_WAKES_NOBODY = (Pause, Stop, StopCall, Tell, HostCommand)
_MOST_WAKES = 3
NO_ENGINE_WARNING = "no engine takes what was sent: it waits in the inbox; orchestrate resume RUN tells what is wrong"


class PendingCommandLine(StyledLine):
    """Shows what is held, or sent and not taken yet; it is hidden while nothing is."""

    def __init__(self) -> None:
        super().__init__()
        self.clock: Callable[[], float] = monotonic
        self._pending = UndoQueue(self._send)
        self._woken_at: float | None = None
        self._wake_count = 0

    @property
    def _host(self) -> "Dashboard":
        return cast("Dashboard", self.app)

    def on_mount(self) -> None:
        """Start to send what is due, and have the rest sent when the dashboard is left."""
        self._host.exit_hooks.append(self.send_held_commands)
        self.set_interval(_TICK_S, self.send_due_commands)

    def _hold(self, commands: Sequence[Command]) -> None:
        view_model = self._host.view_model
        question_ids: Mapping[str, QuestionId] = view_model.state.question_ids if view_model is not None else {}
        described = []
        for command in commands:
            described.append((command, describe_command(command, question_ids)))
        if not self._pending.hold_commands(described, self.clock()):
            self._host.show_message("that is on its way already")
        self._paint()

    def send_due_commands(self) -> None:
        """Send what is due, and show what became of what was sent."""
        self._show_outcomes(self._pending.send_due_commands(self.clock()))
        self._wake()
        if (view_model := self._host.view_model) is not None:
            self._show_outcomes(self._pending.collect_outcomes(view_model.state))
        self._paint()

    def send_held_commands(self) -> None:
        """Send all that is held before the dashboard is left."""
        for outcome in self._pending.flush_commands():
            logging.getLogger(__name__).warning(outcome.message)
        self._woken_at = None
        self._wake()

    def _send(self, command: Command) -> str:
        self._wake_count = 0
        return self._host.actions.send_command(command)

    def _wake(self) -> None:
        """Start an engine for what was sent; again after some seconds, as one that is about to leave takes nothing."""
        if all(isinstance(one.command, _WAKES_NOBODY) for one in self._pending.sent_commands):
            self._woken_at = None
            return
        if self._woken_at is not None and self.clock() - self._woken_at < _WAKE_S:
            return
        self._woken_at = self.clock()
        self._wake_count += 1
        if self._wake_count > _MOST_WAKES:
            if self._wake_count == _MOST_WAKES + 1:
                self._show_outcomes([CommandOutcome(NO_ENGINE_WARNING, is_problem=True)])
            return
        try:
            self._host.actions.wake_engine()
        except OrchestrateError as problem:
            self._show_outcomes([CommandOutcome(str(problem), is_problem=True)])

    def _show_outcomes(self, outcomes: Sequence[CommandOutcome]) -> None:
        for outcome in outcomes:
            self._host.show_message(outcome.message, is_problem=outcome.is_problem)

    def _paint(self) -> None:
        held, sent = self._pending.held_commands, self._pending.sent_commands
        self.set_class(bool(held or sent), "-holds")
        if held:
            in_s = f"  in {max(held[-1].due_at - self.clock(), 0):.0f} s  "
            self.show_spans([(f" {_describe_last(held)}", "warn"), (in_s, "dim"), ("u", "key"), (" undo", "dim")])
        elif sent:
            self.show_spans([(f" sent: {_describe_last(sent)}", "warn"), ("  until an engine takes it", "dim")])


def _describe_last(pending: Sequence[PendingCommand]) -> str:
    """Return `retry parser and 2 more`, with the newest command."""
    return join_limited(map(attrgetter("description"), reversed(pending)), 1)
