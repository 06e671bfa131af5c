"""The fleet: who works on a run, who waits and who needs a person, as rows sorted by attention.

There is a row for each conversation under way, for each task and question that has none, and in a migration for each
step at work and each file that failed or waits. `status --filter` and the dashboard show the same rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import work
from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import SessionId, TaskId, parse_tier_task, parse_unit_task, shorten_run_ref
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.state import RunState, SessionState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.log.event_lines import shorten_model_name
from orchestrator.report.log.last_event import LastSessionEvent
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.agent_row import AGENT_COLUMNS, AgentRow
from orchestrator.report.rows.migration_fleet import build_migration_rows, find_migration_file_row

STALL_S = 240.0
"""Seconds without an event after which a conversation that waits for a model or a tool is said to stall."""
_LETTERS = {"planner": "p", "worker": "w", "judge": "j", "arbiter": "a"}
_OF_TASK: Mapping[TaskStatus, Activity] = {
    TaskStatus.PLANNED: Activity.QUEUE,
    TaskStatus.RUNNING: Activity.RUN,
    TaskStatus.JUDGING: Activity.JUDGE,
    TaskStatus.QUEUED: Activity.MERGE,
    TaskStatus.PLANNING: Activity.THINK,
    TaskStatus.WAITING: Activity.RUN,
    TaskStatus.MERGED: Activity.DONE,
    TaskStatus.DONE: Activity.DONE,
    TaskStatus.SPLIT: Activity.STOP,
    TaskStatus.CANCELLED: Activity.STOP,
    TaskStatus.REJECTED: Activity.FAIL,
    TaskStatus.BLOCKED: Activity.FAIL,
}
_WORDS = {
    TaskStatus.WAITING: "waits for its tasks",
    TaskStatus.QUEUED: "waits to land",
    TaskStatus.RUNNING: "its workspace is made ready",
}


def build_fleet_rows(
    state: RunState,
    seen: Mapping[SessionId, LastSessionEvent],
    now: datetime,
    *,
    is_at_work: bool = True,
    stall_s: float = STALL_S,
    is_whole: bool = True,
) -> list[AgentRow]:
    """The rows, those first that need somebody.

    Args:
        state: the run.
        seen: the last that was heard of each conversation.
        now: aware UTC.
        is_at_work: whether an engine works on the run: without one, what was under way waits.
        stall_s: how long nothing may be heard of what was begun.
        is_whole: a row for each file of a migration; else those at rest are only counted, in a row for each status.
    """
    if state.started is None:
        return []
    rows = [
        *_Fleet(state, seen, now, is_at_work, stall_s).iterate_rows(),
        *build_migration_rows(state, is_at_work, is_whole),
    ]
    return sorted(rows, key=lambda row: row.urgency)


def find_fleet_row(
    state: RunState,
    seen: Mapping[SessionId, LastSessionEvent],
    now: datetime,
    *,
    session: SessionId | None = None,
    task: TaskId | None = None,
    path: str | None = None,
    is_at_work: bool = True,
) -> AgentRow | None:
    """The row of one thing, however many there are: of a file, else of a conversation under way, else of a task."""
    if path is not None and (file := find_migration_file_row(state, path)) is not None:
        return file
    return _Fleet(state, seen, now, is_at_work, STALL_S).find_row(session, task)


def build_short_names(state: RunState) -> dict[SessionId, str]:
    """`w07`: what conversations are called where there is little room, by role and in the order they began."""
    counts = dict.fromkeys(_LETTERS, 0)
    names = {}
    for session in state.sessions.values():
        counts[session.role] += 1
        names[session.session] = f"{_LETTERS[session.role]}{counts[session.role]:02}"
    return names


def render_fleet_lines(rows: Sequence[AgentRow], total: int) -> Iterator[str]:
    """The rows as a table for a person, with how many there are in all."""
    cells = [row.render_cells() for row in rows]
    widths = {
        key: min(max([len(title), *(len(row[key]) for row in cells)]), most) for key, title, most in AGENT_COLUMNS
    }
    if rows:
        yield "  ".join(title.ljust(widths[key]) for key, title, _ in AGENT_COLUMNS).rstrip()
    for row in cells:
        yield "  ".join(row[key][: widths[key]].ljust(widths[key]) for key, _, _ in AGENT_COLUMNS).rstrip()
    yield f"{len(rows)} of {total}"


class _Fleet:
    def __init__(
        self,
        state: RunState,
        seen: Mapping[SessionId, LastSessionEvent],
        now: datetime,
        is_at_work: bool,
        stall_s: float,
    ) -> None:
        self._state, self._seen, self._now, self._stall_s = state, seen, now, stall_s
        self._is_over = state.ended is not None or bool(state.cancel_reason)
        self._waits_all = not is_at_work or state.paused is not None or state.user_pause is not None
        self._open = {
            session: intent
            for intent in state.open_intents.values()
            if (session := getattr(intent, "session", None)) is not None
        }
        self._tested = set()
        for intent in state.open_intents.values():
            if isinstance(intent, CheckStarted) and intent.purpose_facts.task is not None:
                self._tested.add(intent.purpose_facts.task)
        self._asked = {_subject(one): one for one in reversed(state.pending_approvals)}

    def iterate_rows(self) -> Iterator[AgentRow]:
        """Conversations, then tasks without any, then the questions that belong to neither."""
        names = build_short_names(self._state)
        told: set[str] = set()
        talking: set[TaskId | None] = set()
        for session in self._state.sessions.values():
            if self._is_under_way(session):
                talking.add(session.task)
                question = self._question_of(session)
                told.update([question.approval.item] if question else ())
                yield self._session(session, names[session.session], question)
        for task in self._state.tasks.values():
            question = self._asked.get(task.spec.id)
            question = None if question and question.approval.item in told else question
            if question or task.spec.id not in talking:
                told.update([question.approval.item] if question else ())
                yield self._task(task, question)
        for one in self._state.pending_approvals:
            if one.approval.item not in told and self._asked.get(_subject(one)) is one:
                yield self._question(one)

    def find_row(self, name: SessionId | None, task: TaskId | None) -> AgentRow | None:
        """That of a conversation under way, else that of a task."""
        session, found = self._state.sessions.get(name or SessionId("")), self._state.tasks.get(task or TaskId(""))
        if session is not None and self._is_under_way(session):
            return self._session(session, build_short_names(self._state)[session.session], self._question_of(session))
        if found is None:
            return None
        return self._task(found, self._asked.get(found.spec.id))

    def _question_of(self, session: SessionState) -> ApprovalState | None:
        if session.role == "worker":
            return self._asked.get(session.task or "")
        return None

    def _is_under_way(self, session: SessionState) -> bool:
        """A conversation that was left without an end, because its attempt was given up, is not."""
        task = self._state.tasks.get(session.task) if session.task else None
        is_current = task is None or session.role == "planner" or session.attempt == len(task.attempts)
        return session.ended is None and is_current and not (task and task.status.is_terminal)

    def _session(self, session: SessionState, name: str, question: ApprovalState | None) -> AgentRow:
        seen = self._seen.get(session.session)
        doing = Activity.ASK if question else self._doing(session, seen)
        task = self._state.tasks.get(session.task) if session.task else None
        last = _asks(question) if question else seen.words if seen else ""
        silent = (self._now - seen.at).total_seconds() if seen else None
        if doing is Activity.STALL and silent is not None:
            last = f"no event for {format_short_duration(silent)}: {last}"
        return AgentRow(
            kind="session",
            id=session.session,
            name=name,
            activity=doing,
            role=session.role,
            task=session.task or "",
            title=task.spec.title if task else "",
            branch=_branch(task, session.attempt),
            model=shorten_model_name(session.model),
            turn=max(session.turns, seen.turn + 1 if seen and seen.turn is not None else 0),
            spent=session.spent,
            changed_lines=_changed(task, session.attempt),
            age_s=silent,
            last=last,
        )

    def _doing(self, session: SessionState, seen: LastSessionEvent | None) -> Activity:
        if self._is_over:
            return Activity.STOP
        if self._waits_all:
            return Activity.PAUSE
        intent = self._open.get(session.session)
        if intent is not None and seen is not None and (self._now - seen.at).total_seconds() >= self._stall_s:
            return Activity.STALL
        if intent is None and seen is not None and seen.kind == "model.failed":
            return Activity.RETRY
        if session.role in {"judge", "arbiter"}:
            return Activity.JUDGE
        return _of_intent(intent)

    def _task(self, task: TaskState, question: ApprovalState | None) -> AgentRow:
        attempt = task.attempt
        spent = self._state.spent_by_task.get(task.spec.id, Usage())
        return AgentRow(
            kind="task",
            id=task.spec.id,
            name="-",
            activity=self._doing_of(task, question),
            role=_role(self._state, task),
            task=task.spec.id,
            title=task.spec.title,
            branch=_branch(task, attempt.number if attempt else 0),
            model=shorten_model_name(attempt.model) if attempt else "",
            spent=spent,
            changed_lines=_changed(task, attempt.number if attempt else 0),
            last=_asks(question) if question else to_one_line(task.reason) or self._waits(task),
        )

    def _doing_of(self, task: TaskState, question: ApprovalState | None) -> Activity:
        if question:
            return Activity.ASK
        doing = _OF_TASK[task.status]
        if task.status.is_terminal:
            return doing
        if self._is_over:
            return Activity.STOP
        if self._waits_all:
            if doing is not Activity.QUEUE:
                return Activity.PAUSE
            return doing
        if task.spec.id in self._tested:
            return Activity.TEST
        if doing is Activity.QUEUE and (task.attempts or task.retry):
            return Activity.RETRY
        return doing

    def _waits(self, task: TaskState) -> str:
        """What a task waits for that nobody works on."""
        if task.status is not TaskStatus.PLANNED:
            return _WORDS.get(task.status, "")
        if task.spec.approval in self._asked:
            return f"waits for an answer to {task.spec.approval}"
        tasks = self._state.tasks
        needed = [name for name in task.spec.depends_on if name in tasks and not tasks[name].status.is_reached]
        if needed:
            return f"after {', '.join(needed)}"
        return ""

    def _question(self, asked: ApprovalState) -> AgentRow:
        """A question that is about the whole run."""
        return AgentRow(
            kind="approval",
            id=asked.approval.item,
            name="run",
            activity=Activity.ASK,
            title=to_one_line(asked.approval.title),
            last=_asks(asked),
        )


def _role(state: RunState, task: TaskState) -> str:
    if task.spec.kind == "leaf":
        return "worker"
    if state.run.mode == "migration":
        return "step"
    return "planner"


def _subject(asked: ApprovalState) -> str:
    """The task that a question is about, else the question's own name."""
    approval = asked.approval
    match approval.matter:
        case "tier":
            return parse_tier_task(approval.subject)
        case "landing":
            return parse_unit_task(approval.subject)
    return approval.item


def _asks(asked: ApprovalState) -> str:
    return to_one_line(f"{asked.approval.matter}: {asked.approval.title}")


def _of_intent(intent: Intent | None) -> Activity:
    if isinstance(intent, work.ModelCalled):
        return Activity.THINK
    return Activity.RUN


def _branch(task: TaskState | None, number: int) -> str:
    """The ref of an attempt's candidate below the run's own; what it began from where it has none yet."""
    if task is None:
        return ""
    for candidate in task.candidates:
        if candidate.number == number:
            return shorten_run_ref(candidate.ref)
    return next((f"@{attempt.base[:7]}" for attempt in task.attempts if attempt.number == number), "")


def _changed(task: TaskState | None, number: int) -> tuple[int, int] | None:
    """Lines added and removed by an attempt's candidate."""
    found = (one for one in task.candidates if one.number == number) if task else iter(())
    return next(((candidate.added, candidate.removed) for candidate in found), None)
