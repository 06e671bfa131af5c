"""Comments on lines of a change, collected until all of them go back to the worker as one note."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.tui.commands import builders
from orchestrator.tui.subject import Subject

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
    """The comments that were not sent yet. Those of a command that is taken back are there again."""

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

    def build_retry_commands(self, state: RunState) -> list[Command]:
        """Build one retry with all its comments for each task, or for each file of a migration.

        Raises:
            UsageProblem: nothing was said yet.
        """
        if not self._waiting:
            raise UsageProblem("nothing was said of any line yet: c on a line of a diff")
        subjects = dict.fromkeys(comment.subject for comment in self._waiting)
        return list(chain.from_iterable(self._build_retries(subject, state) for subject in subjects))

    def _build_retries(self, subject: Subject, state: RunState) -> Sequence[Command]:
        comments = [comment for comment in self._waiting if comment.subject == subject]
        return builders.build_retries([subject], state, format_note(comments))

    def mark_submitted(self, commands: Sequence[Command], state: RunState) -> None:
        """Remove the comments that these commands carry; they come back with `restore_comments`."""
        waiting = self._waiting.copy()
        for command in commands:
            carried = [one for one in self._waiting if command in self._build_retries(one.subject, state)]
            if carried:
                self._submitted.append((command, carried))
                waiting = [one for one in waiting if one not in carried]
        self._waiting = waiting

    def restore_comments(self, command: Command) -> None:
        """Put back the comments of a command that will not be sent."""
        submitted, self._submitted = self._submitted, []
        for other, comments in submitted:
            if other == command:
                self._waiting += comments
            else:
                self._submitted.append((other, comments))


def format_note(comments: Sequence[LineComment]) -> str:
    """Return all comments as one note to a worker: `path:line: text`, in the order of the files."""
    ordered = sorted(comments, key=lambda one: (one.path, one.line))
    return "\n".join([_ABOVE, *map(str, ordered)])
