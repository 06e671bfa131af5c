"""Gathering the evidence on an attempt and recording the verdict."""

from collections.abc import Sequence
from itertools import takewhile

from anyio import to_thread

from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import CandidateTaken, LensVoted, VerdictGiven
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import Finding, VerdictKind
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Exit, Task
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import build_landing_approval
from orchestrator.engine.hook_points import apply_verdict_veto, notify_verdict_given
from orchestrator.engine.judging.candidate_changes import (
    CandidateChanges,
    find_gate_files,
    find_secret_leaks,
    read_candidate_changes,
)
from orchestrator.engine.judging.candidate_tests import CandidateTester
from orchestrator.engine.judging.lens_votes import collect_lens_votes
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.rules.task_scope import list_parallel_tasks
from orchestrator.judge.verdict.decision import VerdictEvidence, decide_verdict
from orchestrator.ports.roles import Roles
from worktrees.safety.path_rules import escape_path


async def judge_attempt(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Judge the latest attempt at a task: rules, gate, its own checks, then the lenses; the first red ends it."""
    state = context.state.tasks[task]
    others = _list_parallel(context.state, state)  # as they are now: whoever ends while this is judged was at work
    evidence = await _collect_evidence(context, roles, state, others)
    number = len(state.attempts)
    verdict = await apply_verdict_veto(context, task, decide_verdict(evidence))
    asked = None
    if verdict.kind == VerdictKind.MERGE and state.candidate is not None:
        asked = build_landing_approval(context, state.candidate, state.unit)
    await context.journal.append(
        *(LensVoted(task=task, number=number, vote=vote) for vote in evidence.votes),
        VerdictGiven(task=task, number=number, verdict=verdict),
        *([ApprovalRequested(approval=asked)] if asked else ()),
    )
    await notify_verdict_given(context, task)


def _list_parallel(run: RunState, state: TaskState) -> tuple[Task, ...]:
    """Return the tasks that are at work beside one, or still to come."""
    specs = {name: task.spec for name, task in run.tasks.items()}
    unfinished = [task.spec for task in run.tasks.values() if not task.status.is_terminal]
    return list_parallel_tasks(state.spec, specs, unfinished)


async def _collect_evidence(
    context: RunContext, roles: Roles, state: TaskState, others: Sequence[Task]
) -> VerdictEvidence:
    end, candidate = state.ends[-1], state.candidate
    evidence = VerdictEvidence(exit=end.exit, detail=end.detail, revisions=_count_revisions(state))
    if end.exit != Exit.FINISHED or candidate is None:
        return evidence
    changes = await read_candidate_changes(context.repository.git, state.attempts[-1].base, candidate.commit)
    evidence = evidence.with_changes(findings=await _collect_findings(context, state, candidate, changes, others))
    if any(finding.is_blocking for finding in evidence.findings):
        return evidence
    evidence = await CandidateTester(context, state, candidate, changes).add_test_evidence(evidence)
    if not evidence.is_green:
        return evidence
    return evidence.with_changes(votes=await collect_lens_votes(context, roles, state, candidate, evidence))


def _count_revisions(state: TaskState) -> int:
    """Return how many revisions in a row led to the latest attempt."""
    return len(list(takewhile(lambda attempt: attempt.mode == "revise", reversed(state.attempts))))


async def _collect_findings(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: CandidateChanges, others: Sequence[Task]
) -> tuple[Finding, ...]:
    base = state.attempts[-1].base
    leaks = await find_secret_leaks(context.repository.git, context.journal.redactor, base, candidate.commit)
    facts = ChangeFacts(
        files=changes.files,
        lines=changes.lines,
        hunks=changes.hunks,
        sizes=changes.sizes,
        grants=state.spec.grants,
        gate_files=frozenset(await find_gate_files(context, base, changes.files)),
        task=state.spec,
        parallel_tasks=others,
        is_empty=candidate.tree == await context.read_tree_id(base),
        leaks=tuple(map(escape_path, leaks)),
        left_out_files=candidate.dropped,
        flagged_files=candidate.flagged,
    )
    return tuple(map(escape_finding, await to_thread.run_sync(check_change, facts)))


def escape_finding(finding: Finding) -> Finding:
    """Return the finding with its text and path as they may be stored and shown."""
    return finding.model_copy(update={"text": escape_path(finding.text), "path": escape_path(finding.path)})
