"""One thing of a run, looked at whole: which conversation, task and attempt, or which file, and a line about it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from orchestrator.domain.ids import SessionId, TaskId, parse_unit_task
from orchestrator.domain.run.state import RunState, SessionState, TaskState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.task.details import render_task_history

Styled = tuple[str, str]
"""Words and the name of their style."""


@dataclass(frozen=True)
class ResolvedSubject:
    """What a subject is about. `attempt` is 0 where there was none yet; `path` is a file of a migration."""

    session: SessionId | None = None
    task: TaskId | None = None
    attempt: int = 0
    path: str | None = None


def resolve_subject(state: RunState, kind: Literal["session", "task", "unit", "file"], name: str) -> ResolvedSubject:
    """What a subject of the dashboard is about; the latest of what there is for a task or a file."""
    if kind == "session":
        session = state.sessions.get(SessionId(name))
        return ResolvedSubject(SessionId(name), session.task if session else None, session.attempt if session else 0)
    if kind == "file" or (kind == "unit" and name in state.files):
        tasks = []
        for task in state.tasks.values():
            if name in task.spec.paths and task.spec.kind == "leaf":
                tasks.append(task.spec.id)
        if tasks:
            found = _of_task(state, tasks[-1])
        else:
            found = ResolvedSubject()
        return ResolvedSubject(found.session, found.task, found.attempt, name)
    return _of_task(state, get_unit_task(state, name) if kind == "unit" else TaskId(name))


def get_unit_task(state: RunState, name: str) -> TaskId:
    """The task of a unit that is one; its name where it is none."""
    task = parse_unit_task(name)
    if task in state.tasks:
        return task
    return TaskId(name)


def _of_task(state: RunState, name: TaskId) -> ResolvedSubject:
    """A task with its worker's or planner's latest conversation."""
    task = state.tasks.get(name)
    own = [one for one in state.sessions.values() if one.task == name]
    latest = max(own, key=lambda one: (one.ended is None, one.role in {"worker", "planner"}, one.attempt), default=None)
    if task and task.attempt:
        attempt = task.attempt.number
    else:
        attempt = 0
    return ResolvedSubject(latest.session if latest else None, name, attempt)


def render_subject_headline(
    state: RunState, whole: ResolvedSubject, row: AgentRow | None, is_ascii: bool = False
) -> Iterator[Styled]:
    """`w07 > parser  Port it   attempt 2   ? ask   turn 41   212k tok   $0.93`."""
    task = state.tasks.get(whole.task) if whole.task else None
    sign = ">" if is_ascii else "›"
    name = row.name if row and row.kind == "session" else "task" if whole.path is None else "file"
    yield f" {name} {sign} ", "dim"
    yield to_one_line(whole.path or whole.task or whole.session or ""), "title"
    if task is not None and whole.path is None:
        yield f"  {to_one_line(task.spec.title, 60)}", ""
    if whole.attempt:
        yield f"   attempt {whole.attempt}", "dim"
    if row is not None:
        yield f"   {row.activity.render_label(is_ascii)}", row.activity.style
        cells = row.render_cells(is_ascii)
        told = [f"turn {cells['turn']}", f"{cells['tokens']} tok", f"${cells['cost']}"] if row.turn else []
        yield "".join(f"   {part}" for part in (*told, cells["branch"])), "dim"


def render_subject_info(state: RunState, whole: ResolvedSubject) -> Iterator[Styled]:
    """What was asked, each attempt with its verdict and reasons, and what it cost so far."""
    task = state.tasks.get(whole.task) if whole.task else None
    if task is None:
        yield "no task belongs to it", "dim"
    else:
        for line in render_task_history(state, task):
            yield (line, _style(line))
    sessions = []
    for one in state.sessions.values():
        if one.task == whole.task or one.session == whole.session:
            sessions.append(one)
    yield "", ""
    yield f"cost  {len(sessions)} conversation{'s' * (len(sessions) != 1)}", "title"
    for one in sessions:
        yield (_cost_line(one), "")
    if task is not None:
        yield from _limits(task)


def _cost_line(session: SessionState) -> str:
    spent, how = session.spent, session.ended or "under way"
    return (
        f"  {session.session}  {session.model}  {how}  {spent.calls} calls  {spent.tokens:,} tokens  {spent.cost_text}"
    )


def _limits(task: TaskState) -> Iterator[Styled]:
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
