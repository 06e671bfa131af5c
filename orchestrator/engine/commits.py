"""The commits of a goal's pull request: one a task with a message that people can read, or one for all."""

import re
import textwrap

from orchestrator.config.model import CommitSettings
from orchestrator.domain.agent_lookup import find_unit_identity
from orchestrator.domain.ids import UnitId, parse_unit_id, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Handoff
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import sanitize_message, sanitize_title, to_one_line
from worktrees.object_store.commit_style import CommitStyle
from worktrees.object_store.merge import COMMIT_AUTHOR

SUBJECT_CHARS = 72
AGENT_TRAILER = "Orchestrate-Agent"
ORIGIN_TRAILERS = ("Orchestrate-Task", AGENT_TRAILER)
"""The trailers that tell which attempt a commit holds, and who made it."""
_WIDTH = 72
_REPORT_CHARS = 600
"""At most so much of a worker's report stands in a commit."""
_REPORT_POINTS = 8
_QUOTE = "> "
_TRAILER_LIKE = compile_lazily(r"^(?=[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+[ \t]*:)", re.MULTILINE)
"""The beginning of a line that a tool may take for a trailer, such as `Signed-off-by:`."""


def build_commit_style(settings: CommitSettings) -> CommitStyle:
    """Return whose commits are and how they are signed."""
    author = COMMIT_AUTHOR
    if settings.name:
        author = (settings.name, settings.email)
    return CommitStyle(author, settings.sign, settings.key, settings.co_author)


def format_subject(title: str) -> str:
    """Return a title as the first line of a commit: at most 72 characters, cut between words, without a full stop."""
    line = sanitize_title(title).rstrip(". ")
    return textwrap.shorten(line, SUBJECT_CHARS, placeholder=" …") if len(line) > SUBJECT_CHARS else line


def build_task_message(state: RunState, unit: UnitId) -> str:
    """Return the message of a task's commit: its title, what it was to reach, its worker's words, where it comes from.

    It is the same for the same journal: a union that is composed again is the same commit.
    """
    known = state.tasks[parse_unit_task(unit)]
    task = known.spec
    subject, outcome = format_subject(task.title), _wrap_paragraphs(task.outcome)
    title = sanitize_title(task.title)
    parts = [subject or str(task.id)]
    if "…" in subject and title.rstrip(". ") != subject:
        parts.append(_wrap_paragraphs(task.title))
    if outcome and outcome.rstrip(". ") != subject:
        parts.append(outcome)
    if report := _quote_report(_find_worker_handoff(known, unit)):
        parts.append(f"The worker's report:\n\n{report}")
    parts.append("\n".join(_build_trailers(state, unit)))
    return "\n\n".join(parts) + "\n"


def _build_trailers(state: RunState, unit: UnitId) -> list[str]:
    trailers = [f"Orchestrate-Run: {state.run.run}", f"Orchestrate-Task: {unit}"]
    identity = find_unit_identity(state, unit)
    if identity and state.run.names_agents:
        trailers.append(f"{AGENT_TRAILER}: {identity.format_trailer()}")
    return [*trailers, *_list_gate_trailers(state)]


def _list_gate_trailers(state: RunState) -> list[str]:
    """Return a trailer for each check of the gate, by its id with the hash of its definition."""
    return [f"Orchestrate-Gate: {check}" for check in sorted(state.get_baseline_receipts())]


def _find_worker_handoff(task: TaskState, unit: UnitId) -> Handoff | None:
    """Return the last report of a worker up to the unit's attempt; whoever only brought two sides together is none."""
    ref = parse_unit_id(unit)
    clashes = {attempt.number for attempt in task.attempts if attempt.clash}
    found = None
    for end in task.ends:
        is_of_unit = ref is None or end.number <= ref.number
        if end.handoff and is_of_unit and (end.number not in clashes or found is None):
            found = end.handoff
    return found


def _quote_report(handoff: Handoff | None) -> str:
    """Return a report's summary and what it says is done as a quotation: no line of it can be a trailer."""
    if handoff is None:
        return ""
    lines = _quote_words(handoff.summary, "", _REPORT_CHARS)
    for point in handoff.done[:_REPORT_POINTS]:
        lines += _quote_words(point, "- ", _REPORT_CHARS - sum(map(len, lines)))
    return "\n".join(lines)


def _quote_words(text: str, mark: str, room: int) -> list[str]:
    """Return the lines of a quotation of at most `room` characters of a text; none where a line has no room."""
    if room < _WIDTH:
        return []
    words = sanitize_message(textwrap.shorten(to_one_line(text), room, placeholder=" …"))
    indent = _QUOTE + " " * len(mark)
    return textwrap.wrap(words, _WIDTH, initial_indent=_QUOTE + mark, subsequent_indent=indent, break_on_hyphens=False)


def build_merge_message(state: RunState, branch: str, target: str) -> str:
    """Return the message of the commit that brings a run's branch together with what its target holds meanwhile."""
    trailers = "\n".join((f"Orchestrate-Run: {state.run.run}", *_list_gate_trailers(state)))
    goal = _wrap_paragraphs(state.run.goal)
    return "\n\n".join(filter(None, (format_subject(f"Merge {branch} into {target}"), goal, trailers))) + "\n"


def build_squash_message(state: RunState, title: str, subjects: list[str], origins: list[str]) -> str:
    """Return the message of the one commit that stands for all those with these subjects.

    `origins` are their own trailers of which task they hold and who made it.
    """
    listed = "\n".join(textwrap.fill(one, _WIDTH, initial_indent="- ", subsequent_indent="  ") for one in subjects)
    trailers = "\n".join((f"Orchestrate-Run: {state.run.run}", *origins, *_list_gate_trailers(state)))
    return f"{format_subject(title)}\n\n{listed}\n\n{trailers}\n"


def _wrap_paragraphs(text: str) -> str:
    paragraphs = sanitize_message(text).split("\n\n")
    wrapped = [textwrap.fill(" ".join(one.split()), _WIDTH, break_long_words=False) for one in paragraphs]
    return _TRAILER_LIKE.sub(" ", "\n\n".join(filter(None, wrapped)))
