"""What a run asks of people and what they answered: for the dashboard's inbox and every other list of questions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.domain.ids import TaskId, parse_tier_task, parse_unit_id, parse_unit_task
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.approval import Approval, ApprovalState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.text.durations import format_short_duration
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem
from orchestrator.report.rows.row_filter import FilterValue

QUESTION_KEYS = ("item", "matter", "title", "who", "state", "task", "by", "reason", "age")
"""The fields that a filter can ask for."""
_DIGITS = 9
_TITLE_CHARS = 500
_ASKS = {
    "plan": "planner", "landing": "queue", "pull-request": "run", "merge": "run", "budget": "budget", "tier": "worker",
    "contract": "judge", "sample": "migration", "recipe": "migration",
}  # fmt: skip


@dataclass(frozen=True)
class QuestionRow:
    """A question with what a person has to know to answer it.

    `number` counts what waits from 1, as `:approve 1` does; 0 once answered. `age_s` is since it was put, `left_s`
    until `default` counts; None where that is not known, or never. `blocks` says what does not go on without.
    """

    number: int
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
    by: str
    reason: str
    detail: Sequence[str]

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return self.number > 0

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """What a filter sees of it."""
        return {
            "item": self.item,
            "matter": self.matter,
            "title": self.title,
            "who": self.who,
            "state": "ask" if self.is_open else self.decision or "moot",
            "task": self.task,
            "by": self.by,
            "reason": self.reason,
            "age": self.age_s,
        }


def build_question_rows(state: RunState, now: datetime) -> list[QuestionRow]:
    """What waits, oldest first, then what was answered, newest first."""
    waiting = state.pending_approvals
    names = {one.approval.item for one in waiting}
    others = [one for item, one in state.approvals.items() if item not in names]
    others.sort(key=lambda one: _at(state, one), reverse=True)
    waits = _Waits(state)
    asked = [_question(state, one, number, now, waits) for number, one in enumerate(waiting, start=1)]
    return asked + [_question(state, one, 0, now, waits) for one in others]


class _Waits:
    """Which tasks wait for what, looked up once for all questions."""

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
        """How many tasks that have not ended depend on a task or on what is above it."""
        needed = set(self._state.iterate_lineage(task))
        waiting = [one for name in needed for one in self._after.get(name, ())]
        found: set[TaskId] = set()
        while waiting:
            one = waiting.pop()
            if one.spec.id not in found:
                found.add(one.spec.id)
                waiting += self._below.get(one.spec.id, ())
        return sum(not self._state.tasks[name].status.is_terminal for name in found - needed)


def _at(state: RunState, one: ApprovalState) -> float:
    item = one.approval.item
    at = state.approval_answered_at.get(item) or state.approval_asked_at.get(item)
    if at:
        return at.timestamp()
    return 0.0


def _question(state: RunState, one: ApprovalState, number: int, now: datetime, waits: _Waits) -> QuestionRow:
    asked = one.approval
    since = state.approval_asked_at.get(asked.item) if number else state.approval_answered_at.get(asked.item)
    task = find_question_task(state, asked)
    ends = asked.expires_at if number else None
    return QuestionRow(
        number=number,
        item=asked.item,
        matter=asked.matter,
        title=to_one_line(asked.title, _TITLE_CHARS),
        who=" ".join(filter(None, (_ASKS[asked.matter], task or ""))),
        task=task,
        blocks=_blocks(state, asked, task, waits) if number else "",
        default=asked.default,
        age_s=max((now - since).total_seconds(), 0.0) if since else None,
        left_s=(ends - now).total_seconds() if ends else None,
        decision=one.decision or "",
        by=one.by,
        reason=one.reason,
        detail=asked.detail,
    )


def get_question_item(state: RunState, name: str) -> str:
    """The question that a person means: by its name, or by its number among those that wait.

    Raises:
        UsageProblem: nothing is asked under that number.
    """
    if not name.isdecimal():
        return name
    waiting = [one.approval.item for one in state.pending_approvals]
    if len(name) > _DIGITS or not 1 <= int(name) <= len(waiting):
        raise UsageProblem(f"nothing is asked under the number {name}; waiting: {', '.join(waiting) or 'nothing'}")
    return waiting[int(name) - 1]


def find_question_task(state: RunState, asked: Approval) -> TaskId | None:
    """The task that a question is about: its subject is `TASK`, `TASK@ATTEMPT` or `TASK/NUMBER`."""
    subject = asked.subject
    names = (subject, parse_unit_task(subject), parse_tier_task(subject))
    return next((TaskId(name) for name in names if name in state.tasks), None)


def _blocks(state: RunState, asked: Approval, task: TaskId | None, waits: _Waits) -> str:
    match asked.matter:
        case "plan":
            held = waits.planned[asked.item]
            if held:
                return f"{held} tasks of {task}"
            return f"the plan of {task}"
        case "landing" | "tier" if task is not None:
            after = waits.count_dependents(task)
            return f"{task}" + (f" and {after} after it" if after else "")
        case "landing":
            return "the landing of this pass"
        case "pull-request" | "merge":
            return "the pull request; all else is done"
        case "budget":
            return "everything that would cost"
        case "contract":
            return "the end of the run"
        case "sample":
            return "all files but the sample"
    if state.ended:
        return "nothing: it may be answered later"
    return "what the revised recipe would do again"


@dataclass(frozen=True)
class QuestionedChange:
    """What a question is about: `old` and `new` are commits or trees; in `new` `files` are replaced (mode, blob)."""

    old: str
    new: str
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def find_questioned_change(state: RunState, item: str) -> QuestionedChange | None:
    """The change that a question is about; None if it is about none, or not about one alone."""
    known = state.approvals.get(item)
    if known is None:
        return None
    task = find_question_task(state, known.approval) if known.approval.matter == "landing" else None
    if task is not None:
        found = state.tasks[task]
        unit = parse_unit_id(known.approval.subject)
        taken = [one for one in found.candidates if unit and one.number == unit.number]
        attempts = [one for one in found.attempts if unit and one.number == unit.number]
        if taken and attempts:
            return QuestionedChange(attempts[-1].base, taken[-1].commit)
        return None
    if known.approval.matter in {"pull-request", "merge"} and state.head is not None:
        return QuestionedChange(state.run.base, state.head)
    if known.approval.matter == "landing" and known.is_open:
        return _to_land(state)
    return None


def _to_land(state: RunState) -> QuestionedChange | None:
    """What is about to land of a migration: one pass at a time does."""
    ready = (one for one in state.files.values() if one.status == FileStatus.TRANSFORMED and one.is_pending)
    files = {one.path: (one.mode, one.blob) for one in ready if one.blob is not None}
    base = state.landings[-1].new if state.landings else state.run.base_tree
    if files:
        return QuestionedChange(base, base, files)
    return None


def render_question_lines(one: QuestionRow) -> list[str]:
    """All that is known of a question, in words: title, what it is about, every line of detail, and the answer."""
    lines = [one.title, f"item      {one.item}", f"asked by  {one.who}"]
    if one.blocks:
        lines.append(f"blocks    {one.blocks}")
    if one.left_s is not None:
        lines.append(f"expires   counts as {one.default} in {format_short_duration(max(one.left_s, 0))}")
    if not one.is_open:
        because = f": {one.reason}" if one.reason else ""
        lines.append(f"answered  {one.decision} by {one.by}{because}" if one.decision else "no longer of interest")
    if one.detail:
        return [*lines, "", *one.detail]
    return lines
