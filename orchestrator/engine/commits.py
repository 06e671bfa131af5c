"""The commits of a goal's pull request: one a task with a message that people can read, or one for all."""

import textwrap

from orchestrator.config.model import CommitSettings
from orchestrator.domain.ids import UnitId, parse_unit_task
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import sanitize_message, sanitize_title
from worktrees.object_store.commit_style import CommitStyle
from worktrees.object_store.merge import COMMIT_AUTHOR

SUBJECT_CHARS = 72
_WIDTH = 72


def build_commit_style(settings: CommitSettings) -> CommitStyle:
    """Return whose commits are and how they are signed."""
    author = COMMIT_AUTHOR
    if settings.name:
        author = (settings.name, settings.email)
    return CommitStyle(author, settings.sign, settings.key)


def format_subject(title: str) -> str:
    """Return a title as the first line of a commit: at most 72 characters, cut between words, without a full stop."""
    line = sanitize_title(title).rstrip(". ")
    return textwrap.shorten(line, SUBJECT_CHARS, placeholder=" …") if len(line) > SUBJECT_CHARS else line


def build_task_message(state: RunState, unit: UnitId) -> str:
    """Return the message of a task's commit: its title, what it was to reach, and where it comes from."""
    task = state.tasks[parse_unit_task(unit)].spec
    subject, outcome = format_subject(task.title), _wrap_paragraphs(task.outcome)
    title = sanitize_title(task.title)
    parts = [subject or str(task.id)]
    if "…" in subject and title.rstrip(". ") != subject:
        parts.append(_wrap_paragraphs(task.title))
    if outcome and outcome.rstrip(". ") != subject:
        parts.append(outcome)
    parts.append(f"Orchestrate-Run: {state.run.run}\nOrchestrate-Task: {unit}")
    return "\n\n".join(parts) + "\n"


def build_squash_message(state: RunState, title: str, subjects: list[str]) -> str:
    """Return the message of the one commit that stands for all those with these subjects."""
    listed = "\n".join(textwrap.fill(one, _WIDTH, initial_indent="- ", subsequent_indent="  ") for one in subjects)
    return f"{format_subject(title)}\n\n{listed}\n\nOrchestrate-Run: {state.run.run}\n"


def _wrap_paragraphs(text: str) -> str:
    paragraphs = sanitize_message(text).split("\n\n")
    wrapped = [textwrap.fill(" ".join(one.split()), _WIDTH, break_long_words=False) for one in paragraphs]
    return "\n\n".join(filter(None, wrapped))
