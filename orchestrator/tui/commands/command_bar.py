"""Actions on a run: from a key or a typed command to the run's inbox, with some seconds to take it back."""

from collections.abc import Sequence
from functools import partial
from itertools import filterfalse
from pathlib import Path
from typing import Literal

from anyio import to_thread
from textual.app import SuspendNotSupported

from orchestrator.domain.commands.definitions import Command, RollbackShards
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.tui.commands import builders
from orchestrator.tui.commands.checkout import open_checkout
from orchestrator.tui.commands.descriptions import describe_with_consequence, is_dangerous
from orchestrator.tui.commands.parser import parse_commands
from orchestrator.tui.commands.pending_line import PendingCommandLine
from orchestrator.tui.commands.review_comments import LineComment, ReviewComments
from orchestrator.tui.screens.command_dialogs import ConfirmationDialog, NoteDialog
from orchestrator.tui.subject import Subject
from orchestrator.tui.terminal.suspend import suspend_dashboard
from orchestrator.tui.view_model import Connection
from worktrees.errors import GitError

CopyOpener = Literal["editor", "shell"]
RECORDING_REFUSAL = "this is a recording: nothing is sent"
READ_ONLY_REFUSAL = "read-only: nothing is sent; start without --read-only to act"


class CommandBar(PendingCommandLine):
    """Builds and confirms commands from keys and typed lines, and holds them for some seconds."""

    DEFAULT_CSS = "CommandBar { display: none; background: $panel; } CommandBar.-holds { display: block; }"

    def __init__(self) -> None:
        super().__init__()
        self._comments = ReviewComments()
        self.is_suspended = False
        """True while another program has the terminal."""

    def run_key_action(self, name: str) -> None:
        """Do what a key stands for (a name in `KEY_ACTIONS`) to what is selected, or show why not."""
        if (state := self._state()) is None:
            return
        action, selected = builders.KEY_ACTIONS[name], self._selected
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
            return not all(map(partial(explain_refusal, state), choice(chosen, state, "a note")))
        except UsageProblem:
            return False

    def _run_builder(self, choice: builders.CommandBuilder, chosen: Sequence[Subject], note: str) -> None:
        if (state := self._state()) is None:
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
        if (state := self._state()) is not None:
            self.submit_commands(parse_commands(text, self._selected, state))

    def add_line_comment(self, path: str, line: int, text: str) -> None:
        """Keep a comment on a line of the change in front, until `submit_review`."""
        if self._state() is None or not self._selected:
            return
        self._comments.add_comment(LineComment(self._selected[0], path, line, text))
        self._host.show_message(f"{format_count(len(self._comments), 'line')} commented; S sends all to the worker")

    def submit_review(self) -> None:
        """Retry each task whose lines were commented, with all comments as its note."""
        if (state := self._state()) is None:
            return
        try:
            commands = self._comments.build_retry_commands(state)
            self.submit_commands(commands)
        except OrchestrateError as problem:
            self._host.show_message(str(problem), is_problem=True)
            return
        self._comments.mark_submitted(list(filterfalse(partial(explain_refusal, state), commands)), state)

    def open_copy(self, how: CopyOpener) -> None:
        """Open a copy of what is selected in the user's editor or a shell, which has the terminal until it ends."""
        state, view_model = self._state(), self._host.view_model
        if state is None or view_model is None:
            return
        if not self.is_suspended:
            subject = next(iter(self._selected), None)
            self.run_worker(self._open(how, state, view_model.directory, subject), group="opening", exclusive=True)

    async def _open(self, how: CopyOpener, state: RunState, directory: RunDirectory, subject: Subject | None) -> None:
        actions = self._host.actions
        try:
            async with open_checkout(state, directory, subject) as root:
                with suspend_dashboard(self.app):
                    self.is_suspended = True
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
            self.is_suspended = False

    def submit_commands(self, commands: Sequence[Command]) -> None:
        """Hold commands, after a confirmation where they end something.

        Raises:
            UsageProblem: none of them can be carried out now.
        """
        if (state := self._state()) is None:
            return
        explain = partial(explain_refusal, state)
        refusals, possible = list(filter(None, map(explain, commands))), list(filterfalse(explain, commands))
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
        if view_model.is_read_only or view_model.connection == Connection.REPLAY:
            refusal = READ_ONLY_REFUSAL if view_model.is_read_only else RECORDING_REFUSAL
            self._host.show_message(refusal, is_problem=True)
            return None
        return view_model.state

    def undo_last_commands(self) -> None:
        """Undo the last batch of commands that is still held."""
        undone = self._pending.undo_last_batch()
        for one in undone:
            self._comments.restore_comments(one.command)
        words = ", ".join(one.description for one in undone)
        self._host.show_message(f"not sent: {words}" if undone else "there is nothing to take back")
        self._paint()


def _locate_file(root: Path, subject: Subject | None) -> Path:
    """Return the file that a subject stands for in a checkout; else the top of it."""
    if subject is not None and subject.kind == "file" and (root / subject.id).exists():
        return root / subject.id
    return root


def _count_things(command: Command) -> int:
    """Return the number of things that a command is about."""
    return len(command.shards) if isinstance(command, RollbackShards) else 1
