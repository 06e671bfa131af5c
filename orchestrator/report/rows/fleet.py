"""Build the fleet: a run's conversations, tasks and questions as rows, sorted by urgency.

There is a row for each conversation under way, for each task and question that has none, and in a migration for each
step at work and each file that failed or waits. `status --filter` and the dashboard show the same rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import work
from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import SessionId, TaskId, parse_tier_task, parse_unit_task
from orchestrator.domain.refs import shorten_ref
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.log.last_event import LastSessionEvent
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.agent_row import AGENT_COLUMNS, AgentRow
from orchestrator.report.rows.migration_fleet import build_migration_rows, find_migration_file_row
from orchestrator.report.rows.task_activities import ACTIVITY_BY_TASK_STATUS

STALL_S = 240.0
"""Seconds without an event after which a conversation that waits for a model or a tool is said to stall."""
_LETTERS = {"planner": "p", "worker": "w", "judge": "j", "verifier": "v", "arbiter": "a"}
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
    """Return the rows, those first that need a person.

    Args:
        state: the run.
        seen: the last event of each conversation.
        now: aware UTC.
        is_at_work: True while an engine works on the run; without one, everything under way waits.
        stall_s: seconds without an event after which a conversation is said to stall.
        is_whole: True for a row for each file of a migration; else files at rest are counted, in a row for each status.
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
    session: SessionId | None = None,
    task: TaskId | None = None,
    path: str | None = None,
    *,
    is_at_work: bool = True,
) -> AgentRow | None:
    """Return the row of a file, else of a conversation under way, else of a task."""
    if path is not None and (file := find_migration_file_row(state, path)) is not None:
        return file
    return _Fleet(state, seen, now, is_at_work, STALL_S).find_row(session, task)


def build_short_names(state: RunState) -> dict[SessionId, str]:
    """Return short names of conversations such as `w07`, by role and in the order they began."""
    counts = dict.fromkeys(_LETTERS, 0)
    names = {}
    for session in state.sessions.values():
        counts[session.role] += 1
        names[session.session] = f"{_LETTERS[session.role]}{counts[session.role]:02}"
    return names


def render_fleet_lines(rows: Sequence[AgentRow], total: int) -> Iterator[str]:
    """Yield the rows as a table, and a line with how many there are in all."""
    cells = [row.render_cells() for row in rows]
    if rows:
        cells.insert(0, {key: title for key, title, _ in AGENT_COLUMNS})
    widths = {key: min(max((len(row[key]) for row in cells), default=0), most) for key, _, most in AGENT_COLUMNS}
    for row in cells:
        yield "  ".join(row[key][:width].ljust(width) for key, width in widths.items()).rstrip()
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
        self._open: dict[SessionId, Intent] = {}
        self._tested: set[str] = set()
        for intent in state.open_intents.values():
            session = getattr(intent, "session", None)
            if session is not None:
                self._open[session] = intent
            if isinstance(intent, CheckStarted) and intent.purpose_facts.task is not None:
                self._tested.add(intent.purpose_facts.task)
        self._asked = {_get_subject(one): one for one in reversed(state.pending_approvals)}

    def iterate_rows(self) -> Iterator[AgentRow]:
        """Yield conversations, then tasks without any, then the questions that belong to neither."""
        names = build_short_names(self._state)
        shown: set[str] = set()
        talking: set[TaskId | None] = set()
        for session in self._state.sessions.values():
            if self._is_under_way(session):
                talking.add(session.task)
                question = self._find_question(session)
                if question:
                    shown.add(question.approval.item)
                yield self._build_session_row(session, names[session.session], question)
        for task in self._state.tasks.values():
            question = self._asked.get(task.spec.id)
            if question and question.approval.item not in shown:
                shown.add(question.approval.item)
                yield self._build_task_row(task, question)
            elif task.spec.id not in talking:
                yield self._build_task_row(task, None)
        for question in self._state.pending_approvals:
            if question.approval.item not in shown and self._asked.get(_get_subject(question)) is question:
                yield self._build_question_row(question)

    def find_row(self, name: SessionId | None, task: TaskId | None) -> AgentRow | None:
        """Return the row of a conversation under way, else that of a task."""
        session, found = self._state.sessions.get(name or SessionId("")), self._state.tasks.get(task or TaskId(""))
        if session is not None and self._is_under_way(session):
            return self._build_session_row(
                session, build_short_names(self._state)[session.session], self._find_question(session)
            )
        if found is None:
            return None
        return self._build_task_row(found, self._asked.get(found.spec.id))

    def _find_question(self, session: SessionState) -> ApprovalState | None:
        if session.role == "worker":
            return self._asked.get(session.task or "")
        return None

    def _is_under_way(self, session: SessionState) -> bool:
        """Return False for a conversation without an end if its attempt was given up."""
        if session.ended is not None:
            return False
        task = self._find_task(session)
        if task is None:
            return True
        is_current = session.role == "planner" or session.attempt == len(task.attempts)
        return is_current and not task.status.is_terminal

    def _find_task(self, session: SessionState) -> TaskState | None:
        return self._state.tasks.get(session.task) if session.task else None

    def _build_session_row(self, session: SessionState, name: str, question: ApprovalState | None) -> AgentRow:
        seen = self._seen.get(session.session)
        task, doing = self._find_task(session), self._get_session_activity(session, seen)
        turn, last, silent = session.turns, "", None
        if seen:
            turn = max(turn, 0 if seen.turn is None else seen.turn + 1)
            last, silent = seen.words, (self._now - seen.at).total_seconds()
        if question:
            doing, last = Activity.ASK, _render_question(question)
        elif doing is Activity.STALL and silent is not None:
            last = f"no event for {format_short_duration(silent)}: {last}"
        return AgentRow(
            kind="session",
            id=session.session,
            name=name,
            activity=doing,
            role=session.role,
            task=session.task or "",
            title=task.spec.title if task else "",
            branch=_find_branch(task, session.attempt),
            model=shorten_model_name(session.model),
            turn=turn,
            spent=session.spent,
            changed_lines=_count_changed_lines(task, session.attempt),
            age_s=silent,
            last=last,
        )

    def _get_session_activity(self, session: SessionState, seen: LastSessionEvent | None) -> Activity:
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
        return _get_intent_activity(intent)

    def _build_task_row(self, task: TaskState, question: ApprovalState | None) -> AgentRow:
        number, model = 0, ""
        if task.attempt:
            number, model = task.attempt.number, shorten_model_name(task.attempt.model)
        return AgentRow(
            kind="task",
            id=task.spec.id,
            name="-",
            activity=self._get_task_activity(task, question),
            role=_get_role(self._state, task),
            task=task.spec.id,
            title=task.spec.title,
            branch=_find_branch(task, number),
            model=model,
            spent=self._state.spend.by_task.get(task.spec.id, Usage()),
            changed_lines=_count_changed_lines(task, number),
            last=_render_question(question) if question else to_one_line(task.reason) or self._describe_wait(task),
        )

    def _get_task_activity(self, task: TaskState, question: ApprovalState | None) -> Activity:
        if question:
            return Activity.ASK
        doing = ACTIVITY_BY_TASK_STATUS[task.status]
        if task.status.is_terminal:
            return doing
        if self._is_over:
            return Activity.STOP
        if self._waits_all:
            return doing if doing is Activity.QUEUE else Activity.PAUSE
        if task.spec.id in self._tested:
            return Activity.TEST
        if doing is Activity.QUEUE and (task.attempts or task.retry):
            return Activity.RETRY
        return doing

    def _describe_wait(self, task: TaskState) -> str:
        """Return what a task without a conversation waits for."""
        if task.status is not TaskStatus.PLANNED:
            return _WORDS.get(task.status, "")
        if task.spec.approval in self._asked:
            return f"waits for an answer to {task.spec.approval}"
        tasks = self._state.tasks
        missing = []
        for name in task.spec.depends_on:
            if name in tasks and not tasks[name].status.is_reached:
                missing.append(name)
        return add_lead("after ", ", ".join(missing))

    def _build_question_row(self, asked: ApprovalState) -> AgentRow:
        """Return the row of a question about the whole run."""
        return AgentRow(
            kind="approval",
            id=asked.approval.item,
            name="run",
            activity=Activity.ASK,
            title=to_one_line(asked.approval.title),
            last=_render_question(asked),
        )


def _get_role(state: RunState, task: TaskState) -> str:
    if task.spec.kind == "leaf":
        return "worker"
    if state.run.mode == "migration":
        return "step"
    return "planner"


def _get_subject(asked: ApprovalState) -> str:
    """Return the task that a question is about, else the question's own name."""
    approval = asked.approval
    match approval.matter:
        case "tier" | "policy":
            return parse_tier_task(approval.subject)
        case "landing":
            return parse_unit_task(approval.subject)
    return approval.item


def _render_question(asked: ApprovalState) -> str:
    return to_one_line(f"{asked.id} {asked.approval.matter}: {asked.approval.title}")


def _get_intent_activity(intent: Intent | None) -> Activity:
    if isinstance(intent, work.ModelCalled):
        return Activity.THINK
    return Activity.RUN


def _find_branch(task: TaskState | None, number: int) -> str:
    """Return the ref of an attempt's candidate without the run's prefix, or the base where it has none yet."""
    candidate = _find_candidate(task, number)
    if candidate:
        return shorten_ref(candidate.ref)
    for attempt in task.attempts if task else ():
        if attempt.number == number:
            return f"@{attempt.base[:7]}"
    return ""


def _count_changed_lines(task: TaskState | None, number: int) -> tuple[int, int] | None:
    """Return the lines added and removed by an attempt's candidate."""
    candidate = _find_candidate(task, number)
    if candidate:
        return candidate.added, candidate.removed
    return None


def _find_candidate(task: TaskState | None, number: int) -> work.CandidateTaken | None:
    for candidate in task.candidates if task else ():
        if candidate.number == number:
            return candidate
    return None
