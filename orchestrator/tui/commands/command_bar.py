"""Actions on a run: from a key or a typed command to the run's inbox, with some seconds to take it back."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, filterfalse
from operator import attrgetter
from pathlib import Path
from typing import Literal

from anyio import to_thread
from textual.app import SuspendNotSupported

from orchestrator.domain.commands.definitions import (
    Command,
    Continue,
    Retry,
    RetryFiles,
    RollbackShards,
    SendBack,
)
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.edited_plans import WaitingPlan, require_waiting_plan
from orchestrator.report.rows.questions import find_question_task
from orchestrator.report.run.condition import explain_nothing_to_continue
from orchestrator.tui.commands import builders
from orchestrator.tui.commands.checkout import open_checkout, suspend_dashboard
from orchestrator.tui.commands.parser import parse_commands
from orchestrator.tui.commands.pending_line import PendingCommandLine, describe_with_consequence, is_dangerous
from orchestrator.tui.commands.plan_editing import edit_waiting_plan
from orchestrator.tui.rows.diff_rows import CommentTexts
from orchestrator.tui.screens.command_dialogs import ConfirmationDialog, NoteDialog
from orchestrator.tui.view_model import Connection, Subject
from worktrees.errors import GitError

_ABOVE = "A person looked at the change and says of these lines:"


@dataclass(frozen=True)
class LineComment:
    """Something said of a line, counted from 1, of the change that a subject stands for."""

    subject: Subject
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


class ReviewComments:
    """The comments that were not sent yet. Those of a command that is taken back are there again.

    What is said of a change that waits to land is sent back with it; anything else has its task tried again.
    """

    def __init__(self) -> None:
        self._waiting: list[LineComment] = []
        self._submitted: list[tuple[Command, list[LineComment]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add_comment(self, comment: LineComment) -> None:
        """Keep a comment until all are sent; it replaces another one on the same line."""
        place = (comment.subject, comment.path, comment.line)
        self._waiting = [one for one in self._waiting if (one.subject, one.path, one.line) != place]
        if comment.text.strip():
            self._waiting.append(comment)

    def get_texts(self, subject: Subject) -> CommentTexts:
        """Return what was said of lines of a subject's change."""
        return {(one.path, one.line): one.text for one in self._waiting if one.subject == subject}

    def list_comments(self, task: str, state: RunState) -> list[LineComment]:
        """Return what was said of the lines of a task's change."""
        return [one for one in self._waiting if builders.find_task_of_subject(one.subject, state) == task]

    def add_to_answer(self, command: Command, state: RunState) -> Command:
        """Return a command; one that sends back a change gets what was said of its lines."""
        if not isinstance(command, SendBack) or command.item not in state.approvals:
            return command
        task = find_question_task(state, state.approvals[command.item].approval)
        comments = _to_review(self.list_comments(task or "", state))
        return command.model_copy(update={"comments": (*command.comments, *comments)})

    def build_commands(self, state: RunState) -> list[Command]:
        """Build what sends all comments: an answer for each change that waits, else a retry of each task or file.

        Raises:
            UsageProblem: nothing was said yet.
        """
        if not self._waiting:
            raise UsageProblem("nothing was said of any line yet: c on a line of a diff")
        subjects = dict.fromkeys(comment.subject for comment in self._waiting)
        commands = chain.from_iterable(self._build_commands(subject, state) for subject in subjects)
        return list(dict.fromkeys(commands))

    def _build_commands(self, subject: Subject, state: RunState) -> Sequence[Command]:
        task = builders.find_task_of_subject(subject, state)
        question = builders.find_landing_question(TaskId(task), state)
        if question is not None:
            return [self.add_to_answer(SendBack(item=question.approval.item), state)]
        comments = [comment for comment in self._waiting if comment.subject == subject]
        return builders.build_retries([subject], state, format_note(comments))

    def mark_submitted(self, commands: Sequence[Command], state: RunState) -> None:
        """Remove the comments that these commands carry; they come back with `restore_comments`."""
        waiting = self._waiting.copy()
        for command in commands:
            carried = [one for one in self._waiting if self._is_carried(one, command, state)]
            if carried:
                self._submitted.append((command, carried))
                waiting = [one for one in waiting if one not in carried]
        self._waiting = waiting

    def _is_carried(self, comment: LineComment, command: Command, state: RunState) -> bool:
        """Return True if a command carries a comment."""
        if isinstance(command, SendBack):
            asked = state.approvals[command.item].approval
            is_of_task = builders.find_task_of_subject(comment.subject, state) == find_question_task(state, asked)
            return is_of_task and set(_to_review([comment])) <= set(command.comments)
        return isinstance(command, Retry | RetryFiles) and command in self._build_commands(comment.subject, state)

    def restore_comments(self, command: Command) -> None:
        """Put back the comments of a command that will not be sent."""
        submitted, self._submitted = self._submitted, []
        for other, comments in submitted:
            if other == command:
                self._waiting += comments
            else:
                self._submitted.append((other, comments))


def _to_review(comments: Sequence[LineComment]) -> tuple[ReviewComment, ...]:
    """Return the comments as they are sent, in the order of the files."""
    ordered = sorted(comments, key=lambda one: (one.path, one.line))
    return tuple(ReviewComment(path=one.path, line=one.line, text=one.text) for one in ordered)


def format_note(comments: Sequence[LineComment]) -> str:
    """Return all comments as one note to a worker: `path:line: text`, in the order of the files."""
    ordered = sorted(comments, key=lambda one: (one.path, one.line))
    return "\n".join([_ABOVE, *map(str, ordered)])


NO_TERMINAL = "this terminal cannot be lent to another program"
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
        if name == "send-back" and self._has_comments(selected, state):
            note_policy = "may"
        if not note_policy or not self._is_possible(action.build_commands, selected, state):
            self._run_builder(action.build_commands, selected, "")
            return

        def run_with_note(note: str | None) -> None:
            if note is not None:
                self._run_builder(action.build_commands, selected, note)

        self.app.push_screen(NoteDialog(action.title, is_required=note_policy == "must"), run_with_note)

    def _has_comments(self, selected: Sequence[Subject], state: RunState) -> bool:
        """Return True if something was said of lines of each selected change."""
        tasks = [builders.find_task_of_subject(subject, state) for subject in selected]
        return bool(tasks) and all(self._comments.list_comments(task, state) for task in tasks)

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
            self._submit_with_comments(choice(chosen, state, note), state)
        except OrchestrateError as problem:
            self._host.show_message(str(problem), is_problem=True)

    def _submit_with_comments(self, commands: Sequence[Command], state: RunState) -> None:
        """Hold commands; those that send back a change take along what was said of its lines.

        Raises:
            UsageProblem: none of them can be carried out now.
        """
        whole = [self._comments.add_to_answer(command, state) for command in commands]
        self.submit_commands(whole)
        self._comments.mark_submitted(list(filterfalse(partial(explain_refusal, state), whole)), state)

    def run_typed_command(self, text: str) -> None:
        """Do what a typed command says.

        Raises:
            UsageProblem: it cannot be done, for the reason that the command line would give.
        """
        if (state := self._state()) is not None:
            self._submit_with_comments(parse_commands(text, self._selected, state), state)

    def add_line_comment(self, path: str, line: int, text: str) -> None:
        """Keep a comment on a line of the change in front, until `submit_review`."""
        state = self._state()
        if state is None or not self._selected:
            return
        self._comments.add_comment(LineComment(self._selected[0], path, line, text))
        said = f"{format_count(len(self._comments), 'line')} commented; S sends all to the worker"
        task = TaskId(builders.find_task_of_subject(self._selected[0], state))
        if builders.find_landing_question(task, state) is not None:
            said += ", b with a note"
        self._host.show_message(said)

    def get_comments(self, subject: Subject) -> CommentTexts:
        """Return the comments on a subject's change that were not sent yet."""
        return self._comments.get_texts(subject)

    def submit_review(self) -> None:
        """Send all comments: with what is sent back, or as the note of a further try."""
        if (state := self._state()) is None:
            return
        try:
            commands = self._comments.build_commands(state)
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
            self._host.show_message(NO_TERMINAL, is_problem=True)
        except (OrchestrateError, GitError, OSError) as problem:
            self._host.show_message(str(problem), is_problem=True)
        else:
            self._host.show_message("that was a copy; it is gone, with all that was changed in it")
        finally:
            self.is_suspended = False

    def edit_plan(self) -> None:
        """Open the plan that waits in the user's editor, and hold its approval as they leave it."""
        state = self._state()
        if state is None or self.is_suspended:
            return
        try:
            waiting = require_waiting_plan(state, builders.find_question_items(self._selected, state)[0])
        except OrchestrateError as problem:
            self._host.show_message(str(problem), is_problem=True)
            return
        self.run_worker(self._edit(waiting), group="opening", exclusive=True)

    async def _edit(self, waiting: WaitingPlan) -> None:
        self.is_suspended = True
        try:
            answer = await edit_waiting_plan(self.app, self._host.actions.open_editor, waiting)
            self.submit_commands([answer])
        except SuspendNotSupported:
            self._host.show_message(NO_TERMINAL, is_problem=True)
        except (OrchestrateError, OSError) as problem:
            self._host.show_message(str(problem), is_problem=True)
        finally:
            self.is_suspended = False

    def submit_commands(self, commands: Sequence[Command]) -> None:
        """Hold commands, after a confirmation where they end something.

        Raises:
            UsageProblem: none of them can be carried out now.
        """
        if self._state() is None:
            return
        explain = self._explain_refusal
        refusals, possible = list(filter(None, map(explain, commands))), list(filterfalse(explain, commands))
        if not possible:
            raise UsageProblem("; ".join(refusals))
        for refusal in refusals:
            self._host.show_message(refusal, is_problem=True)
        if any(map(is_dangerous, possible)):
            self.call_later(self._confirm, possible)  # whatever the command was typed into is shut by then
        else:
            self._hold(possible)

    def _explain_refusal(self, command: Command) -> str:
        """Return the reason why a command cannot be carried out now; empty when it can."""
        view_model = self._host.view_model
        if view_model is None:
            return ""
        refusal = explain_refusal(view_model.state, command)
        if not refusal and isinstance(command, Continue):
            return explain_nothing_to_continue(view_model.state, view_model.is_at_work)
        return refusal

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
        words = ", ".join(map(attrgetter("description"), undone))
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
