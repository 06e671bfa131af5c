"""One thing of a run, looked at whole: which conversation, task and attempt, or which file, and a line about it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.domain.ids import SessionId, TaskId, build_unit_id, parse_unit_task
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.hosts.attempts import describe_attempt_hosts
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.task.details import render_task_history
from orchestrator.tui.rows.text_plots import get_glyphs

Styled = tuple[str, str]
"""Words and the name of their style."""


@dataclass(frozen=True)
class ResolvedSubject:
    """The things behind a subject. `attempt` is 0 where there was none yet; `path` is a file of a migration."""

    session: SessionId | None = None
    task: TaskId | None = None
    attempt: int = 0
    path: str | None = None

    def find_task(self, state: RunState) -> TaskState | None:
        """Return its task, if it has one that the run knows."""
        return state.tasks.get(self.task or TaskId(""))

    def find_session(self, state: RunState) -> SessionState | None:
        """Return its conversation, if it has one that the run knows."""
        return state.sessions.get(self.session or SessionId(""))


def resolve_subject(state: RunState, kind: Literal["session", "task", "unit", "file"], name: str) -> ResolvedSubject:
    """Return what a subject of the dashboard is about; for a task or a file, its latest attempt."""
    if kind == "session":
        session = state.sessions.get(SessionId(name))
        if session is None:
            return ResolvedSubject(SessionId(name))
        return ResolvedSubject(session.session, session.task, session.attempt)
    if kind == "file" or (kind == "unit" and name in state.migration.files):
        for leaf in reversed(state.tasks.values()):
            if name in leaf.spec.paths and leaf.spec.kind == "leaf":
                return replace(_resolve_task(state, leaf.spec.id), path=name)
        return ResolvedSubject(path=name)
    task = parse_unit_task(name)
    return _resolve_task(state, task if kind == "unit" and task in state.tasks else TaskId(name))


def _resolve_task(state: RunState, name: TaskId) -> ResolvedSubject:
    """Return a task with its worker's or planner's latest conversation."""
    task = state.tasks.get(name)
    attempt = task.attempt.number if task and task.attempt else 0
    sessions = [session for session in state.sessions.values() if session.task == name]
    if not sessions:
        return ResolvedSubject(None, name, attempt)
    return ResolvedSubject(max(sessions, key=_rank_session).session, name, attempt)


def _rank_session(session: SessionState) -> tuple[bool, bool, int]:
    return session.ended is None, session.role in {"worker", "planner"}, session.attempt


def render_subject_headline(
    state: RunState, whole: ResolvedSubject, row: AgentRow | None, is_ascii: bool = False
) -> Iterator[Styled]:
    """Return `w07 > parser  Port it   attempt 2   ? ask   turn 41   212k tok   $0.93`."""
    task = whole.find_task(state)
    name = "task" if whole.path is None else "file"
    if row is not None and row.kind == "session":
        name = row.name
    yield f" {name} {get_glyphs(is_ascii).pointer} ", "dim"
    yield to_one_line(whole.path or whole.task or whole.session or ""), "title"
    if task is not None and whole.path is None:
        yield f"  {to_one_line(task.spec.title, 60)}", ""
    if whole.attempt:
        where = describe_attempt_hosts(state, build_unit_id(whole.task or TaskId(""), whole.attempt))
        yield f"   attempt {whole.attempt}{where}", "dim"
    if row is not None:
        yield f"   {row.activity.render_label(is_ascii)}", row.activity.style
        cells = row.render_cells(is_ascii)
        parts = ["", cells["branch"]]
        if row.turn:
            parts[1:1] = [f"turn {cells['turn']}", f"{cells['tokens']} tok", cells["cost"]]
        yield "   ".join(parts), "dim"


def render_subject_info(state: RunState, whole: ResolvedSubject) -> Iterator[Styled]:
    """Yield the prompt, each attempt with its verdict and reasons, and the cost so far."""
    task = whole.find_task(state)
    if task is None:
        yield "no task belongs to it", "dim"
    else:
        for line in render_task_history(state, task):
            yield (line, get_history_style(line))
    sessions = []
    for one in state.sessions.values():
        if one.task == whole.task or one.session == whole.session:
            sessions.append(one)
    yield "", ""
    yield f"cost  {format_count(len(sessions), 'conversation')}", "title"
    for session in sessions:
        spent, model = session.spent, shorten_model_name(session.model)
        words = f"  {session.session}  {model}  {session.ended or 'under way'}"
        yield f"{words}  {spent.calls} calls  {spent.tokens:,} tokens  cost {spent.cost_text}", ""
    if task is not None and task.spec.budget_usd is not None:
        yield f"  may cost ${task.spec.budget_usd:.2f}", "dim"
    if task is not None and task.spec.budget_tokens is not None:
        yield f"  may take {task.spec.budget_tokens:,} tokens", "dim"


def get_history_style(line: str) -> str:
    """Return the style of a line of a task's history."""
    if line and not line.startswith(" "):
        return "title"
    if line.startswith("  verdict: merge"):
        return "good"
    return "warn" * line.startswith("  verdict: ")
