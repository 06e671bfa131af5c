"""Questions of a run to people, and their answers, for every list of questions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from orchestrator.domain.commands.answers import format_waiting_questions
from orchestrator.domain.ids import (
    QuestionId,
    TaskId,
    parse_question_id,
    parse_tier_task,
    parse_unit_id,
    parse_unit_task,
)
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.approval import DECISION_WORDS, Approval, ApprovalState
from orchestrator.domain.run.closed_questions import explain_closed_question
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.row_filter import FilteredByAttributes

_TITLE_CHARS = 500
_NAME_CHARS = 20
_ASKS = {
    "plan": "planner", "landing": "queue", "pull-request": "run", "merge": "run", "budget": "budget", "tier": "worker",
    "policy": "worker", "contract": "judge", "sample": "migration", "recipe": "migration",
    "gate": "run",
}  # fmt: skip


@dataclass(frozen=True)
class QuestionRow(FilteredByAttributes):
    """A question with what a person has to know to answer it.

    `id` is its short name, by which `:approve q1` answers it. `age_s` is since it was put, `left_s` until `default`
    counts; None where that is not known, or never. `blocks` says what does not go on without. `decision` is in words,
    `closed` is why a question that nobody answered needs no answer any more. A plan `is_editable` as it is approved.
    """

    FILTER_FIELDS: ClassVar = {
        "id": "id_text", "item": "item", "matter": "matter", "title": "title", "who": "who", "state": "state",
        "task": "task", "by": "by", "reason": "reason", "age": "age_s",
    }  # fmt: skip

    id: QuestionId
    item: str
    matter: str
    title: str
    who: str
    task: TaskId | None
    blocks: str
    default: str
    age_s: float | None
    left_s: float | None
    decision: str
    closed: str
    by: str
    reason: str
    detail: Sequence[str]
    answers: Sequence[str]
    is_editable: bool = False

    @property
    def id_text(self) -> str:
        """Its short name as text."""
        return str(self.id)

    @property
    def is_open(self) -> bool:
        """True while it waits for an answer."""
        return not self.decision and not self.closed

    @property
    def state(self) -> str:
        """`ask`, the decision in words, or `closed` where it needs none any more."""
        if self.is_open:
            return "ask"
        return self.decision or "closed"


QUESTION_KEYS = tuple(QuestionRow.FILTER_FIELDS)
"""The fields that a filter can ask for."""


def build_question_rows(state: RunState, now: datetime) -> list[QuestionRow]:
    """Return open questions, oldest first, then answered ones, newest first."""
    dependencies, rows = _Dependencies(state), []
    answered = dict(state.approvals)
    for question in state.pending_approvals:
        answered.pop(question.approval.item, None)
        rows.append(_build_row(state, question, "", now, dependencies))
    for question in sorted(answered.values(), key=lambda one: _get_time(state, one), reverse=True):
        closed = explain_closed_question(state, question) if question.decision is None else ""
        rows.append(_build_row(state, question, closed, now, dependencies))
    return rows


class _Dependencies:
    """The dependencies between tasks, looked up once for all questions."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._after: dict[TaskId, list[TaskState]] = {}
        self._below: dict[TaskId | None, list[TaskState]] = {}
        self.planned = Counter(task.spec.approval for task in state.tasks.values())
        for task in state.tasks.values():
            self._below.setdefault(task.spec.parent, []).append(task)
            for name in task.spec.depends_on:
                self._after.setdefault(name, []).append(task)

    def count_dependents(self, task: TaskId) -> int:
        """Return how many open tasks depend on a task or on its parents."""
        needed = set(self._state.iterate_lineage(task))
        waiting: list[TaskState] = []
        for name in needed:
            waiting += self._after.get(name, ())
        found: set[TaskId] = set()
        while waiting:
            one = waiting.pop()
            if one.spec.id not in found:
                found.add(one.spec.id)
                waiting += self._below.get(one.spec.id, ())
        return sum(not self._state.tasks[name].status.is_terminal for name in found - needed)


def _get_time(state: RunState, one: ApprovalState) -> float:
    item = one.approval.item
    at = state.approval_answered_at.get(item) or state.approval_asked_at.get(item)
    if at:
        return at.timestamp()
    return 0.0


def _build_row(state: RunState, one: ApprovalState, closed: str, now: datetime, waits: _Dependencies) -> QuestionRow:
    asked, ends, blocked = one.approval, None, ""
    task = find_question_task(state, asked)
    since = state.approval_answered_at.get(asked.item)
    if one.is_open and not closed:
        since, ends = state.approval_asked_at.get(asked.item), asked.expires_at
        blocked = _describe_blocked(state, asked, task, waits)
    return QuestionRow(
        id=one.id,
        item=asked.item,
        matter=asked.matter,
        title=to_one_line(asked.title, _TITLE_CHARS),
        who=" ".join(filter(None, (_ASKS[asked.matter], task or ""))),
        task=task,
        blocks=blocked,
        default=asked.default,
        age_s=max((now - since).total_seconds(), 0.0) if since else None,
        left_s=(ends - now).total_seconds() if ends else None,
        decision=DECISION_WORDS[one.decision] if one.decision else "",
        closed=closed,
        by=one.by,
        reason=one.reason,
        detail=asked.detail,
        answers=asked.answers,
        is_editable=asked.plan is not None,
    )


def get_question_item(state: RunState, name: str) -> str:
    """Return the item of a question from its short name, `q2`; any other name is the item itself.

    Raises:
        UsageProblem: nothing is asked under this short name, or the name is a bare number.
    """
    if name.isdecimal():
        raise UsageProblem(
            f"{name[:_NAME_CHARS]!r} names no question: the ids of questions begin with q and stay, as q1; "
            f"{format_waiting_questions(state)}"
        )
    if parse_question_id(name) is None:
        return name
    if (question := state.find_question(name)) is None:
        raise UsageProblem(f"run {state.run.run} has asked no {name}; {format_waiting_questions(state)}")
    return question.approval.item


def get_only_question_item(state: RunState) -> str:
    """Return the item of the only question that waits.

    Raises:
        UsageProblem: none waits, or several do.
    """
    waiting = state.pending_approvals
    if not waiting:
        raise UsageProblem(f"run {state.run.run} asks nothing")
    if len(waiting) > 1:
        asked = f"run {state.run.run} asks {len(waiting)} things"
        raise UsageProblem(f"{asked}: say which; {format_waiting_questions(state)}")
    return waiting[0].approval.item


def find_question_task(state: RunState, asked: Approval) -> TaskId | None:
    """Return the task that a question is about: its subject is `TASK`, `TASK@ATTEMPT` or `TASK/NUMBER`."""
    subject = asked.subject
    names = (subject, parse_unit_task(subject), parse_tier_task(subject))
    return next((TaskId(name) for name in names if name in state.tasks), None)


_BLOCKED = {
    "landing": "the landing of this pass",
    "pull-request": "the pull request; all else is done",
    "merge": "the pull request; all else is done",
    "budget": "everything that would cost",
    "contract": "the end of the run",
    "sample": "all files but the sample",
    "gate": "the whole run: no model is asked before",
}


def _describe_blocked(state: RunState, asked: Approval, task: TaskId | None, waits: _Dependencies) -> str:
    if asked.matter == "plan":
        planned = waits.planned[asked.item]
        return f"{planned} tasks of {task}" if planned else f"the plan of {task}"
    if asked.matter in {"landing", "tier", "policy"} and task is not None:
        after = waits.count_dependents(task)
        return f"{task} and {after} after it" if after else task
    if asked.matter in _BLOCKED:
        return _BLOCKED[asked.matter]
    if state.ended:
        return "nothing: it may be answered later"
    return "what the revised recipe would do again"


@dataclass(frozen=True)
class QuestionedChange:
    """The change in question: `old` and `new` are commits or trees; `files` (mode, blob) are replaced in `new`."""

    old: str
    new: str
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def find_questioned_change(state: RunState, item: str) -> QuestionedChange | None:
    """Return the change that a question is about; None if it is about none, or about several."""
    known = state.approvals.get(item)
    if known is None:
        return None
    approval = known.approval
    if approval.matter in {"pull-request", "merge"} and state.head is not None:
        return QuestionedChange(state.run.base, state.head)
    if approval.matter != "landing":
        return None
    task = find_question_task(state, approval)
    if task is not None:
        unit = parse_unit_id(approval.subject)
        return _find_attempt_change(state.tasks[task], unit.number) if unit else None
    return _find_migration_change(state) if known.is_open else None


def _find_attempt_change(task: TaskState, number: int) -> QuestionedChange | None:
    """Return the change of an attempt by its number; None if it has no candidate."""
    bases = {attempt.number: attempt.base for attempt in task.attempts}
    commits = {candidate.number: candidate.commit for candidate in task.candidates}
    if number in bases and number in commits:
        return QuestionedChange(bases[number], commits[number])
    return None


def _find_migration_change(state: RunState) -> QuestionedChange | None:
    """Return what a migration's current pass is about to land; None if that is nothing."""
    files = {}
    for file in state.migration.files.values():
        if file.status == FileStatus.TRANSFORMED and file.is_pending and file.blob is not None:
            files[file.path] = (file.mode, file.blob)
    if not files:
        return None
    base = state.landings[-1].new if state.landings else state.run.base_tree
    return QuestionedChange(base, base, files)


def render_question_lines(one: QuestionRow) -> list[str]:
    """Return a question in lines: title, subject, details and the answer."""
    lines = [one.title, f"item      {one.id} {one.item}", f"asked by  {one.who}"]
    if one.blocks:
        lines.append(f"blocks    {one.blocks}")
    if one.left_s is not None:
        lines.append(f"expires   counts as {one.default} in {format_short_duration(max(one.left_s, 0))}")
    if one.is_open:
        lines.append(f"answers   {', '.join(one.answers)}")
        if one.is_editable:
            lines.append(f"change    the plan first: the key e, or orchestrate approve RUN {one.id} --edit")
    elif one.decision:
        lines.append(f"answered  {one.decision} by {one.by}{add_lead(': ', one.reason)}")
    else:
        lines.append(f"closed    {one.closed}")
    if one.detail:
        return [*lines, "", *one.detail]
    return lines
