"""One thing of a run, looked at whole: which conversation, task and attempt, or which file, and a line about it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from orchestrator.domain.ids import SessionId, TaskId, parse_unit_task
from orchestrator.domain.run.state import RunState, SessionState, TaskState
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.task.details import render_task_history
from orchestrator.tui.rows.glyphs import get_glyphs

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
        if self.task is None:
            return None
        return state.tasks.get(self.task)

    def find_session(self, state: RunState) -> SessionState | None:
        """Return its conversation, if it has one that the run knows."""
        if self.session is None:
            return None
        return state.sessions.get(self.session)


def resolve_subject(state: RunState, kind: Literal["session", "task", "unit", "file"], name: str) -> ResolvedSubject:
    """Return what a subject of the dashboard is about; for a task or a file, its latest attempt."""
    if kind == "session":
        session = state.sessions.get(SessionId(name))
        if session is None:
            return ResolvedSubject(SessionId(name))
        return ResolvedSubject(session.session, session.task, session.attempt)
    if kind == "file" or (kind == "unit" and name in state.migration.files):
        resolved = ResolvedSubject()
        for task in reversed(state.tasks.values()):
            if name in task.spec.paths and task.spec.kind == "leaf":
                resolved = _resolve_task(state, task.spec.id)
                break
        return replace(resolved, path=name)
    if kind == "unit":
        return _resolve_task(state, get_unit_task(state, name))
    return _resolve_task(state, TaskId(name))


def get_unit_task(state: RunState, name: str) -> TaskId:
    """Return the task of a unit; the unit's name if it is no task's."""
    task = parse_unit_task(name)
    if task in state.tasks:
        return task
    return TaskId(name)


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
        yield f"   attempt {whole.attempt}", "dim"
    if row is not None:
        yield f"   {row.activity.render_label(is_ascii)}", row.activity.style
        cells = row.render_cells(is_ascii)
        parts = ["", cells["branch"]]
        if row.turn:
            parts[1:1] = [f"turn {cells['turn']}", f"{cells['tokens']} tok", f"${cells['cost']}"]
        yield "   ".join(parts), "dim"


def render_subject_info(state: RunState, whole: ResolvedSubject) -> Iterator[Styled]:
    """Yield the prompt, each attempt with its verdict and reasons, and the cost so far."""
    task = whole.find_task(state)
    if task is None:
        yield "no task belongs to it", "dim"
    else:
        for line in render_task_history(state, task):
            yield (line, _style(line))
    sessions = []
    for session in state.sessions.values():
        if session.task == whole.task or session.session == whole.session:
            sessions.append(session)
    yield "", ""
    yield f"cost  {format_count(len(sessions), 'conversation')}", "title"
    for session in sessions:
        yield _render_cost(session), ""
    if task is not None:
        yield from _render_limits(task)


def _render_cost(session: SessionState) -> str:
    spent, how = session.spent, session.ended or "under way"
    return (
        f"  {session.session}  {session.model}  {how}  {spent.calls} calls  {spent.tokens:,} tokens  {spent.cost_text}"
    )


def _render_limits(task: TaskState) -> Iterator[Styled]:
    spec = task.spec
    if spec.budget_usd is not None:
        yield f"  may cost ${spec.budget_usd:.2f}", "dim"
    if spec.budget_tokens is not None:
        yield f"  may take {spec.budget_tokens:,} tokens", "dim"


def _style(line: str) -> str:
    if line and not line.startswith(" "):
        return "title"
    if line.startswith("  verdict: "):
        if line.startswith("  verdict: merge"):
            return "good"
        return "warn"
    return ""
