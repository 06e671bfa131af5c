"""Actions on a run: from a key or a typed command to the run's inbox, with some seconds to take it back."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal, cast

from anyio import to_thread
from textual.app import SuspendNotSupported

from orchestrator.domain.commands.definitions import Command, Pause, RollbackShards, Stop, StopCall
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count, join_limited
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.tui.commands import builders
from orchestrator.tui.commands.checkout import open_checkout
from orchestrator.tui.commands.descriptions import describe_command, describe_with_consequence, is_dangerous
from orchestrator.tui.commands.key_actions import KEY_ACTIONS
from orchestrator.tui.commands.parser import parse_commands
from orchestrator.tui.commands.review_comments import LineComment, ReviewComments
from orchestrator.tui.commands.undo_queue import CommandOutcome, PendingCommand, UndoQueue
from orchestrator.tui.screens.command_dialogs import ConfirmationDialog, NoteDialog
from orchestrator.tui.subject import Subject
from orchestrator.tui.terminal.suspend import suspend_dashboard
from orchestrator.tui.view_model import Connection
from orchestrator.tui.widgets.styled_line import StyledLine
from worktrees.errors import GitError

if TYPE_CHECKING:
    from orchestrator.tui.app import Dashboard

_TICK_S = 1 / 4
_WAKE_S = 20.0
"""Until a command is taken, an engine is looked for so often; one needs some seconds to come up."""
_WAKES_NOBODY = (Pause, Stop, StopCall)
_MOST_WAKES = 3
CopyOpener = Literal["editor", "shell"]
RECORDING_REFUSAL = "this is a recording: nothing is sent"
NO_ENGINE_WARNING = "no engine takes what was sent: it waits in the inbox; orchestrate resume RUN tells what is wrong"
READ_ONLY_REFUSAL = "read-only: nothing is sent; start without --read-only to act"


class CommandBar(StyledLine):
    """The line above the keys that shows what is held or sent and not taken yet. It is not there while nothing is."""

    DEFAULT_CSS = "CommandBar { display: none; background: $panel; } CommandBar.-holds { display: block; }"

    def __init__(self) -> None:
        super().__init__(id="acts")
        self.clock: Callable[[], float] = monotonic
        self._pending = UndoQueue(self._send)
        self._comments = ReviewComments()
        self._woken_at: float | None = None
        self._wake_count = 0
        self._is_terminal_lent = False

    @property
    def is_suspended(self) -> bool:
        """True while another program has the terminal."""
        return self._is_terminal_lent

    @property
    def _host(self) -> "Dashboard":
        return cast("Dashboard", self.app)

    def on_mount(self) -> None:
        """Start to send what is due, and have the rest sent when the dashboard is left."""
        self._host.exit_hooks.append(self.send_held_commands)
        self.set_interval(_TICK_S, self.send_due_commands)

    # --- what is wanted ----------------------------------------------------------------------------------------------

    def run_key_action(self, name: str) -> None:
        """Do what a key stands for (a name in `KEY_ACTIONS`) to what is selected, or show why not."""
        state = self._state()
        if state is None:
            return
        action, selected = KEY_ACTIONS[name], self._selected
        note_policy = action.get_note_policy(state)
        if not note_policy or not self._is_possible(action.build_commands, selected, state):
            self._run_builder(action.build_commands, selected, "")
            return

        def run_with_note(note: str | None) -> None:
            if note is not None:
                self._run_builder(action.build_commands, selected, note)

        self.app.push_screen(NoteDialog(action.title, is_required=note_policy == "must"), run_with_note)

    @property
    def _selected(self) -> Sequence[Subject]:
        view = self._host.view_stack.current_view
        return tuple(view.selected_subjects) if view else ()

    def _is_possible(self, choice: builders.CommandBuilder, chosen: Sequence[Subject], state: RunState) -> bool:
        """Return True if the action would build a command that is not refused, so that a note makes sense."""
        try:
            return any(not explain_refusal(state, command) for command in choice(chosen, state, "a note"))
        except UsageProblem:
            return False

    def _run_builder(self, choice: builders.CommandBuilder, chosen: Sequence[Subject], note: str) -> None:
        state = self._state()
        if state is None:
            return
        try:
            self.submit_commands(choice(chosen, state, note))
        except OrchestrateError as problem:
            self._host.show_message(str(problem), is_problem=True)

    def run_typed_command(self, text: str) -> None:
        """Do what a typed command says.

        Raises:
            UsageProblem: it cannot be done, for the reason that the command line would give.
        """
        state = self._state()
        if state is not None:
            self.submit_commands(parse_commands(text, self._selected, state))

    def add_line_comment(self, path: str, line: int, text: str) -> None:
        """Keep a comment on a line of the change in front, until `submit_review`."""
        selected = self._selected
        if self._state() is None or not selected:
            return
        self._comments.add_comment(LineComment(selected[0], path, line, text))
        self._host.show_message(f"{format_count(len(self._comments), 'line')} commented; S sends all to the worker")

    def submit_review(self) -> None:
        """Retry each task whose lines were commented, with all comments as its note."""
        state = self._state()
        if state is None:
            return
        try:
            commands = self._comments.build_retry_commands(state)
            self.submit_commands(commands)
        except OrchestrateError as problem:
            self._host.show_message(str(problem), is_problem=True)
            return
        self._comments.mark_submitted([one for one in commands if not explain_refusal(state, one)], state)

    def open_copy(self, how: CopyOpener) -> None:
        """Open a copy of what is selected in the user's editor or a shell, which has the terminal until it ends."""
        state, view_model = self._state(), self._host.view_model
        if state is None or view_model is None:
            return
        if not self._is_terminal_lent:
            subject = next(iter(self._selected), None)
            self.run_worker(self._open(how, state, view_model.directory, subject), group="opening", exclusive=True)

    async def _open(self, how: CopyOpener, state: RunState, directory: RunDirectory, subject: Subject | None) -> None:
        actions = self._host.actions
        try:
            async with open_checkout(state, directory, subject) as root:
                with suspend_dashboard(self.app):
                    self._is_terminal_lent = True
                    if how == "shell":
                        await to_thread.run_sync(actions.open_shell, root)
                    else:
                        await to_thread.run_sync(actions.open_editor, _locate_file(root, subject))
        except SuspendNotSupported:
            self._host.show_message("this terminal cannot be lent to another program", is_problem=True)
        except (OrchestrateError, GitError, OSError) as problem:
            self._host.show_message(str(problem), is_problem=True)
        else:
            self._host.show_message("that was a copy; it is gone, with all that was changed in it")
        finally:
            self._is_terminal_lent = False

    def submit_commands(self, commands: Sequence[Command]) -> None:
        """Hold commands, after a confirmation where they end something.

        Raises:
            UsageProblem: none of them can be carried out now.
        """
        state = self._state()
        if state is None:
            return
        possible: list[Command] = []
        refusals: list[str] = []
        for command in commands:
            if refusal := explain_refusal(state, command):
                refusals.append(refusal)
            else:
                possible.append(command)
        if not possible:
            raise UsageProblem("; ".join(refusals))
        for refusal in refusals:
            self._host.show_message(refusal, is_problem=True)
        if any(map(is_dangerous, possible)):
            self.call_later(self._confirm, possible)  # whatever the command was typed into is shut by then
        else:
            self._hold(possible)

    def _confirm(self, commands: Sequence[Command]) -> None:
        dialog = ConfirmationDialog(list(map(describe_with_consequence, commands)), sum(map(_count_things, commands)))

        def hold_if_sure(is_sure: bool | None) -> None:
            if is_sure:
                self._hold(commands)

        self.app.push_screen(dialog, hold_if_sure)

    def _state(self) -> RunState | None:
        """Return the state of the run if something may be done to it; else show why not."""
        view_model = self._host.view_model
        if view_model is None or view_model.state.started is None:
            return None
        if view_model.is_read_only:
            self._host.show_message(READ_ONLY_REFUSAL, is_problem=True)
            return None
        if view_model.connection == Connection.REPLAY:
            self._host.show_message(RECORDING_REFUSAL, is_problem=True)
            return None
        return view_model.state

    # --- what is held ------------------------------------------------------------------------------------------------

    def _hold(self, commands: Sequence[Command]) -> None:
        if not self._pending.hold_commands(
            list(zip(commands, map(describe_command, commands), strict=True)), self.clock()
        ):
            self._host.show_message("that is on its way already")
        self._paint()

    def undo_last_commands(self) -> None:
        """Undo the last batch of commands that is still held."""
        undone = self._pending.undo_last_batch()
        for one in undone:
            self._comments.restore_comments(one.command)
        if undone:
            self._host.show_message(f"not sent: {', '.join(one.description for one in undone)}")
        else:
            self._host.show_message("there is nothing to take back")
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

    def _show_outcomes(self, outcome: Sequence[CommandOutcome]) -> None:
        for one in outcome:
            self._host.show_message(one.message, is_problem=one.is_problem)

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
    return join_limited([one.description for one in reversed(pending)], 1)


def _locate_file(root: Path, subject: Subject | None) -> Path:
    """Return the file that a subject stands for in a checkout; else the top of it."""
    if subject is not None and subject.kind == "file" and (root / subject.id).exists():
        return root / subject.id
    return root


def _count_things(command: Command) -> int:
    """Return the number of things that a command is about."""
    if isinstance(command, RollbackShards):
        return len(command.shards)
    return 1
