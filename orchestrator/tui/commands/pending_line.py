"""The line above the keys: commands that are held or sent, and an engine that is started for them."""

import logging
from collections.abc import Callable, Sequence
from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, cast

from orchestrator.domain.commands.definitions import Command, Pause, Stop, StopCall
from orchestrator.domain.text.listing import join_limited
from orchestrator.errors import OrchestrateError
from orchestrator.tui.commands.descriptions import describe_command
from orchestrator.tui.commands.undo_queue import CommandOutcome, PendingCommand, UndoQueue
from orchestrator.tui.widgets.styled_line import StyledLine

if TYPE_CHECKING:
    from orchestrator.tui.app import Dashboard

_TICK_S = 1 / 4
_WAKE_S = 20.0
"""Until a command is taken, an engine is looked for so often; one needs some seconds to come up."""
_WAKES_NOBODY = (Pause, Stop, StopCall)
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
        described = list(zip(commands, map(describe_command, commands), strict=True))
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
