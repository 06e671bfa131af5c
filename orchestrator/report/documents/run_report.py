"""Build the report of a run, from which its documents are made: what came of it, why, at what price."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from orchestrator.domain.chat import Role
from orchestrator.domain.commands.person_words import PersonWords
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.ids import SessionId, TaskId, build_unit_id
from orchestrator.domain.judging.check import Difference, Receipt
from orchestrator.domain.planning.plan_edits import PlanEdit, describe_plan_change
from orchestrator.domain.run.session_state import SessionState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, Exit
from orchestrator.report.cost.breakdown import NO_USAGE, CostBreakdown, RefusedPlanLog, build_cost_breakdown
from orchestrator.report.cost.rendering import build_cost_report
from orchestrator.report.documents import run_report_model
from orchestrator.report.documents.run_timeline import RunTimeline, WorkInterval
from orchestrator.report.migration.full_report import MigrationReport, build_migration_report
from orchestrator.report.rows.queue_rows import describe_ejection
from orchestrator.report.run.contract import iterate_contract_receipts
from orchestrator.report.run.result import build_run_result
from orchestrator.report.task.attempt_fates import Fate, get_attempt_fates
from orchestrator.report.task.receipt import (
    CheckLog,
    ReadBlob,
    build_rerun_command,
    find_difference,
    iterate_receipt_keys,
)

_SPEAKERS: tuple[Role, ...] = ("planner", "worker", "verifier", "judge", "arbiter")
_TESTS = 12
ReadEvents = Callable[[Sequence[str]], Iterable[RecordedEvent]]
"""Gives the events of these kinds, in order."""


def collect_run_report(
    state: RunState,
    journal: Path,
    read_events: ReadEvents,
    read_blob: ReadBlob,
    *,
    is_at_work: bool | None = None,
) -> run_report_model.RunReport:
    """Return the whole report of a run and the events that `state` was folded from.

    Args:
        state: the run.
        journal: where its journal lies.
        read_events: gives events of the journal.
        read_blob: gives what receipts point to.
        is_at_work: see `find_condition`.
    """
    refused, timeline, checks = RefusedPlanLog(), RunTimeline(), CheckLog()
    for log in (refused, timeline, checks):
        log.record_events(read_events(log.KINDS))
    cost = build_cost_breakdown(state, refused)
    return _RunReportBuilder(state, journal, cost, timeline, checks, read_blob, is_at_work).build_report()


@dataclass
class _RunReportBuilder:
    """`timeline` and `checks` have taken in the events that `state` was folded from."""

    _state: RunState
    _journal: Path
    _cost: CostBreakdown
    _timeline: RunTimeline
    _checks: CheckLog
    _read_blob: ReadBlob
    _is_at_work: bool | None

    def __post_init__(self) -> None:
        self._sessions = _group_sessions(self._state)

    def build_report(self) -> run_report_model.RunReport:
        state = self._state
        return run_report_model.RunReport(
            **build_run_result(state, self._journal, self._is_at_work).copy_fields(),
            repository=Path(state.run.repository).name,
            target=state.run.target,
            started_at=state.run.started_at.isoformat(),
            last_at=state.last_at.isoformat() if state.last_at else None,
            iterations_judged=tuple(state.goal.iterations),
            words=tuple(map(_build_words, state.goal.words.values())),
            plan_edits=tuple(map(_build_plan_edit, state.goal.plan_edits)),
            timeline=tuple(map(self._build_interval, self._timeline.intervals)),
            tasks_by_tree=tuple(self._build_task(state.tasks[TaskId(entry.name)]) for entry in self._cost.tasks),
            contract_receipts=self._build_receipts(iterate_contract_receipts(state)),
            cost=build_cost_report(state, self._cost),
            migration=self._build_migration(),
            reproduce=tuple(iterate_reproduction_commands(state)),
            versions=tuple(self._timeline.versions),
            settings=state.run.settings,
            settings_changed=state.overrides,
        )

    def _build_migration(self) -> MigrationReport | None:
        if self._state.run.mode != "migration":
            return None
        return build_migration_report(self._state, self._is_at_work)

    def _build_interval(self, interval: WorkInterval) -> run_report_model.ReportedInterval:
        return run_report_model.ReportedInterval(
            **vars(interval),
            begin_s=self._count_seconds(interval.begin),
            end_s=self._count_seconds(interval.end) if interval.end else None,
        )

    def _count_seconds(self, moment: datetime) -> float:
        """Return the seconds since the run's start."""
        return round((moment - self._state.run.started_at).total_seconds(), 1)

    def _build_task(self, task: TaskState) -> run_report_model.ReportedTask:
        spec, fates = task.spec, get_attempt_fates(task)
        spent = self._state.spend.by_node.get(spec.id, NO_USAGE)
        return run_report_model.ReportedTask(
            **dict(spec),
            status=task.status,
            cause=task.cause,
            reason=task.reason,
            price=spent.cost_text,
            tokens=spent.tokens,
            attempts=tuple(_build_attempt(task, one, fates[one.number]) for one in task.attempts),
            receipts=self._build_receipts(iterate_receipt_keys(task)),
            said=tuple(self._iterate_excerpts(task)),
        )

    def _iterate_excerpts(self, task: TaskState) -> Iterator[run_report_model.ConversationExcerpt]:
        """Yield the last lines of the task's conversations: its planner's, then those of each attempt."""
        timeline = self._timeline
        numbers = dict.fromkeys((0, *(attempt.number for attempt in task.attempts)))
        for number in numbers:
            for session in self._sessions.get((task.spec.id, number), ()):
                if session in timeline.excerpts:
                    yield run_report_model.ConversationExcerpt(
                        session=session,
                        model=self._state.sessions[session].model,
                        lines=tuple(timeline.excerpts[session]),
                        left_out=timeline.left_out.get(session, 0),
                    )

    def _build_receipts(self, keys: Iterable[str]) -> tuple[run_report_model.ReportedReceipt, ...]:
        return tuple(self._build_receipt(self._state.receipts[key]) for key in dict.fromkeys(keys))

    def _build_receipt(self, receipt: Receipt) -> run_report_model.ReportedReceipt:
        difference = find_difference(self._state, receipt, self._checks, self._read_blob) or Difference()
        failures, missing = difference.new_failures, difference.missing_tests
        changes = {
            "seconds": round(receipt.seconds, 1),
            "counts": receipt.counts if receipt.tests is not None else None,
        }
        return run_report_model.ReportedReceipt(
            **{**dict(receipt), **changes},
            purpose=self._checks.purposes.get(receipt.key, ""),
            new_failures=failures[:_TESTS],
            missing=missing[:_TESTS],
            more=len(failures[_TESTS:]) + len(missing[_TESTS:]),
            again=build_rerun_command(receipt),
        )


def _group_sessions(state: RunState) -> dict[tuple[TaskId | None, int], list[SessionId]]:
    """Return the conversations of each task and attempt, the worker's before its reviewers'."""
    groups: dict[tuple[TaskId | None, int], list[SessionId]] = {}
    for session in sorted(state.sessions.values(), key=_rank_speaker):
        groups.setdefault((session.task, session.attempt), []).append(session.session)
    return groups


def _rank_speaker(session: SessionState) -> int:
    return _SPEAKERS.index(session.role)


def _build_attempt(task: TaskState, attempt: Attempt, fate: Fate) -> run_report_model.ReportedAttempt:
    number = attempt.number
    unit = build_unit_id(task.spec.id, number)
    ejections = [one for one in task.ejections if one.unit == unit]
    conflicts: list[str] = []
    for one in ejections:
        conflicts += one.conflict
    exit_, summary = _get_end(task, number)
    return run_report_model.ReportedAttempt(
        **dict(attempt),
        fate=fate,
        exit=exit_,
        summary=summary,
        candidate=_build_candidate(task, number),
        ejected=tuple(map(describe_ejection, ejections)),
        conflicts=tuple(conflicts),
        verdicts=tuple(one.verdict for one in task.verdicts if one.number == number),
    )


def _get_end(task: TaskState, number: int) -> tuple[Exit | None, str]:
    for end in task.ends:
        if end.number == number:
            if end.handoff:
                return end.exit, end.handoff.summary
            return end.exit, end.detail
    return None, ""


def _build_candidate(task: TaskState, number: int) -> run_report_model.ReportedCandidate | None:
    for candidate in task.candidates:
        if candidate.number == number:
            return run_report_model.ReportedCandidate.model_validate(candidate, from_attributes=True)
    return None


def iterate_reproduction_commands(state: RunState) -> Iterator[str]:
    """Yield lines for a shell in the repository: look at what landed, test it again, replay the run."""
    run = state.run
    if state.head:
        yield f"git diff {run.base}..{state.head}"
        yield f"git checkout --detach {state.head}"
    yield from dict.fromkeys(receipt.command for receipt in state.get_baseline_receipts().values())
    yield f"orchestrate replay {shlex.quote(run.run)} --offline"


def _build_plan_edit(edit: PlanEdit) -> run_report_model.ReportedPlanEdit:
    changes = tuple(map(describe_plan_change, edit.changes))
    return run_report_model.ReportedPlanEdit(task=edit.task, round=edit.round, by=edit.by, changes=changes)


def _build_words(said: PersonWords) -> run_report_model.ReportedWords:
    reached = ""
    if said.session is not None:
        reached = f"{said.session}, {'in its brief' if said.turn is None else f'after turn {said.turn}'}"
    return run_report_model.ReportedWords(task=said.task, by=said.by, text=said.text, reached=reached)
