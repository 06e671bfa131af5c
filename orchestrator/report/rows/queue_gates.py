"""The gates on the way to a landing, and their marks for the latest attempt at a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.ids import TaskId, TreeId, build_landing_item, parse_session_lens
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.report.rows.task_activities import TaskActivities

GateMark = Literal["none", "now", "ok", "bad", "ask"]
"""The mark of one gate for a unit: not reached, under way, passed, refused, waiting for a person."""
GateName = Literal["rules", "tests", "review", "person", "union"]
GATE_NAMES: tuple[GateName, ...] = ("rules", "tests", "review", "person", "union")
_OF_RULES = {EndCause.RULE_BROKEN, EndCause.TOO_LARGE}
_OF_TESTS = {EndCause.RED_TESTS, EndCause.MISSING_TESTS, EndCause.UNSETTLED_TESTS, EndCause.NOT_TESTED}
_OF_REVIEW = {EndCause.REFUSED_BY_REVIEW, EndCause.UNREADABLE_REVIEW}


@dataclass(frozen=True)
class GateStatus:
    """One gate: its mark, and a word or two such as `12/12` or `diff`."""

    mark: GateMark = "none"
    words: str = ""


def is_union_under_test(state: RunState) -> bool:
    """Return True while a union is being tested; its units are not known before it is judged."""
    checks = (one for one in state.open_intents.values() if isinstance(one, CheckStarted))
    return any(check.purpose_facts.kind == "queue" for check in checks)


class TaskGates:
    """Looks at one state; make a new one when it has changed."""

    def __init__(self, state: RunState, standing: TaskActivities) -> None:
        self._state, self._standing = state, standing
        self.is_testing = is_union_under_test(state)
        self._reviews: dict[tuple[TaskId | None, int], list[str]] = {}
        for session in state.sessions.values():
            lens = parse_session_lens(session.session) if session.ended is None else None
            if lens is not None:
                self._reviews.setdefault((session.task, session.attempt), []).append(lens)

    def get_gate_statuses(self, task: TaskState) -> Mapping[GateName, GateStatus]:
        """Return the status of the latest attempt at a task at each gate."""
        return {
            "rules": self._rules(task),
            "tests": self._tests(task),
            "review": self._review(task),
            "person": self._person(task),
            "union": self._union(task),
        }

    def _rules(self, task: TaskState) -> GateStatus:
        given = task.verdict
        if given and given.verdict.cause in _OF_RULES:
            return GateStatus("bad")
        if self._receipts(task) or (given and given.verdict.kind == "merge"):
            return GateStatus("ok")
        return GateStatus()

    def _tests(self, task: TaskState) -> GateStatus:
        running = self._standing.checks_by_task.get(task.spec.id)
        counts = self._receipts(task)
        if running:
            return GateStatus("now", running[-1])
        if task.verdict and task.verdict.verdict.cause in _OF_TESTS:
            return GateStatus("bad", counts)
        past = task.verdict is not None or (task.spec.id, len(task.attempts)) in self._reviews
        if counts:
            return GateStatus("ok" if past else "now", counts)
        return GateStatus()

    def _receipts(self, task: TaskState) -> str:
        """Return the passed and all tests of the candidate's tree as `11/12`; the exit code if none are counted."""
        if task.candidate is None:
            return ""
        tree = task.candidate.tree
        receipt = self._latest.get(tree)
        for key in task.verdict.verdict.receipts if task.verdict else ():
            judged = self._state.receipts.get(key)
            if judged and judged.tree == tree:
                receipt = judged
                break
        if receipt is None:
            return ""
        counts = receipt.counts
        if counts.total:
            return f"{counts.passed}/{counts.total}"
        return receipt.ending_text

    @cached_property
    def _latest(self) -> Mapping[TreeId, Receipt]:
        """The gate's latest receipt of each tree."""
        gate = self._state.get_baseline_receipts()
        return {one.tree: one for one in self._state.receipts.values() if one.check in gate}

    def _review(self, task: TaskState) -> GateStatus:
        if lenses := self._reviews.get((task.spec.id, len(task.attempts))):
            return GateStatus("now", ", ".join(lenses))
        votes = task.verdict.verdict.votes if task.verdict else ()
        against = [vote.lens for vote in votes if vote.decision != "approve"]
        if against or (task.verdict and task.verdict.verdict.cause in _OF_REVIEW):
            return GateStatus("bad", ", ".join(against))
        if votes:
            return GateStatus("ok", f"{len(votes)}/{len(votes)}")
        return GateStatus()

    def _person(self, task: TaskState) -> GateStatus:
        answer = self._state.approvals.get(build_landing_item(task.unit))
        if answer is None:
            return GateStatus()
        if answer.decision is None:
            return GateStatus("ask")
        return GateStatus("ok" if answer.decision == "approve" else "bad", answer.by)

    def _union(self, task: TaskState) -> GateStatus:
        if task.status == TaskStatus.MERGED:
            return GateStatus("ok")
        if task.ejection is not None:
            return GateStatus("bad")
        if self.is_testing and task.status == TaskStatus.QUEUED:
            return GateStatus("now")
        return GateStatus()
