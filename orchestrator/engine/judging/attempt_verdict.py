"""Gathering the evidence on an attempt, the votes of its reviewers among it, and recording the verdict."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from anyio import to_thread

from orchestrator.config.roles import LensSettings
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import CandidateTaken, LensVoted, VerdictGiven
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.judging.review import LensView, ReviewMaterial
from orchestrator.domain.judging.verdict import Finding, LensVote, VerdictKind
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Exit, Task
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import build_landing_approval
from orchestrator.engine.control.policy_paths import build_attempt_actor, find_denied_paths
from orchestrator.engine.field_guide import record_attempt_proposals
from orchestrator.engine.hook_points import apply_verdict_veto, notify_verdict_given
from orchestrator.engine.judging.candidate_changes import (
    CandidateChanges,
    JudgedChange,
    find_secret_leaks,
    read_candidate_changes,
)
from orchestrator.engine.judging.candidate_tests import CandidateTester
from orchestrator.engine.judging.composed_candidate import compose_candidate
from orchestrator.engine.judging.grant_requests import request_needed_grants
from orchestrator.engine.judging.regeneration import find_regenerated_files
from orchestrator.engine.judging.support_files import read_base_gate
from orchestrator.engine.judging.test_selection import select_tests_of_change
from orchestrator.engine.task_reports import summarize_receipt
from orchestrator.engine.verification.candidate_verification import find_verifier_failures
from orchestrator.engine.verification.landing_tests import add_landing_tests
from orchestrator.judge.files.changed_file import SYMLINK_MODE
from orchestrator.judge.review.lens_views import MAX_VIEW_CHARS, build_code_view, build_codebase_view, build_diff_view
from orchestrator.judge.review.patch_order import order_patch
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import PROMPT_INJECTION_RULES, check_change
from orchestrator.judge.rules.task_scope import list_parallel_tasks
from orchestrator.judge.source.reviewer_addresses import escape_hidden_text
from orchestrator.judge.verdict.decision import VerdictEvidence, decide_verdict
from orchestrator.ports.roles import ReviewBrief, Roles
from worktrees.diffs.file_diffs import Diff, diff_trees, read_diff_text
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, list_tree, read_entry_contents
from worktrees.safety.path_rules import escape_path

_CUT_CHARS = 20_000
_FILE_BYTES = 1_000_000
"""A larger file is not shown by views that need the whole of it."""


async def collect_lens_votes(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, evidence: VerdictEvidence
) -> tuple[LensVote, ...]:
    """Return the votes of the lenses on a candidate that no receipt speaks against, in the order of asking."""
    votes: list[LensVote] = []
    checks = tuple(map(summarize_receipt, _iterate_own_receipts(context, evidence)))
    proposals = await record_attempt_proposals(context, state, candidate.commit)
    for name, lens in context.config.roles.judge.active_lenses.items():
        if _is_lens_due(lens, evidence):
            brief = ReviewBrief(
                task=state.spec,
                number=candidate.number,
                lens=name,
                view=lens.view,
                shown=await read_lens_view(context, lens.view, state.attempts[-1].base, candidate.commit),
                checks=checks,
                notes=tuple(finding.text for finding in evidence.findings),
                proposals=proposals,
            )
            votes.append(await roles.judge.review_change(brief))
            if votes[-1].decision != "approve":
                break
    return tuple(votes)


def _is_lens_due(lens: LensSettings, evidence: VerdictEvidence) -> bool:
    return lens.when == "always" or any(finding.rule in PROMPT_INJECTION_RULES for finding in evidence.findings)


def _iterate_own_receipts(context: RunContext, evidence: VerdictEvidence) -> Iterator[Receipt]:
    """Return the receipts that say how the change's own tests end; what was run beside them would only confuse."""
    for receipt in context.list_receipts(evidence.receipts):
        if receipt.shows_own_tests:
            yield receipt


async def read_lens_view(context: RunContext, view: LensView, base: CommitId, candidate: CommitId) -> ReviewMaterial:
    """Return what a lens with this view shows of a candidate.

    Raises:
        GitError: one of the commits does not exist.
    """
    git = context.repository.git
    changed = await diff_trees(git, base, candidate)
    match view:
        case LensView.DIFF:
            text = escape_hidden_text(await read_diff_text(git, base, candidate))
            text, unseen = order_patch(text, changed, MAX_VIEW_CHARS)
            text = _limit_text(context, text)
            if unseen:
                text += f"\n[not shown, or not wholly: {join_limited(map(escape_path, unseen), 10)}]"
            return build_diff_view(text, changed, unseen)
        case LensView.CODE:
            shown = await _read_code(git, changed, base, candidate)
        case LensView.CODEBASE:
            shown = await _read_codebase(git, changed, candidate)
    return shown.model_copy(update={"text": _limit_text(context, shown.text)})


def _limit_text(context: RunContext, text: str) -> str:
    if len(text) <= MAX_VIEW_CHARS:
        return text
    text, more = text[: MAX_VIEW_CHARS + _CUT_CHARS], len(text) - MAX_VIEW_CHARS
    shown = context.journal.redact_text(text)[:MAX_VIEW_CHARS]  # before a secret could be cut in two
    return f"{shown}\n[{more} more characters are not shown]"


async def _read_code(git: Git, changed: Diff, base: CommitId, candidate: CommitId) -> ReviewMaterial:
    texts = [file for file in changed.files if file.hunks]
    old = await _read_contents(git, await _list_entries(git, base, (file.old_path or file.path for file in texts)))
    new = await _read_contents(git, await _list_entries(git, candidate, (file.path for file in texts)))
    sides = {}
    for file in texts:
        sides[file.path] = (old.get(file.old_path or file.path), new.get(file.path))
    return await to_thread.run_sync(build_code_view, changed, sides)


async def _read_codebase(git: Git, changed: Diff, candidate: CommitId) -> ReviewMaterial:
    tree = {entry.path: entry for entry in await list_tree(git, candidate)}
    there = [tree[path] for path in changed.paths if path in tree]
    contents = await _read_contents(git, there)
    return build_codebase_view(
        {entry.path: contents.get(entry.path) for entry in there},
        [path for path in changed.paths if path not in tree],
        list(tree),
    )


async def _list_entries(git: Git, commit: CommitId, paths: Iterable[str]) -> list[TreeEntry]:
    wanted = list(paths)
    if wanted:
        return [entry for entry in await list_tree(git, commit, wanted) if entry.path in wanted]
    return []


async def _read_contents(git: Git, entries: Iterable[TreeEntry]) -> dict[str, bytes]:
    """Return the contents of plain files that are not too large, by path."""
    small = []
    for entry in entries:
        if entry.kind == "blob" and entry.mode != SYMLINK_MODE and (entry.size or 0) <= _FILE_BYTES:
            small.append(entry)
    return await read_entry_contents(git, small)


async def judge_attempt(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Judge the latest attempt at a task: rules, gate, its own checks, then the lenses; the first red ends it.

    One that the queue ejected after a look at selected tests is judged again by the whole gate; its reviews stand.
    """
    state = context.state.tasks[task]
    others = _list_parallel(context.state, state)  # as they are now: whoever ends while this is judged was at work
    evidence = await _collect_evidence(context, roles, state, others)
    verdict = decide_verdict(evidence)
    while (decided := await request_needed_grants(context, roles, task, verdict)) and decided.is_allowed:
        state = context.state.tasks[task]
        evidence = await _collect_evidence(context, roles, state, others)
        verdict = decide_verdict(evidence)
    if decided:
        reasons = (*verdict.reasons, f"its planner did not grant that: {decided.reason}")
        verdict = verdict.model_copy(update={"reasons": reasons})
    number = len(state.attempts)
    verdict = await apply_verdict_veto(context, task, verdict)
    if verdict.kind != VerdictKind.MERGE:
        context.passed_candidates.drop_unit(state.unit)
    asked, landing = None, context.state.tasks[task].candidate  # which may have tests that were added meanwhile
    if verdict.kind == VerdictKind.MERGE and landing is not None and state.ejection is None:
        asked = build_landing_approval(context, landing, state.unit)
    await context.journal.append(
        *(LensVoted(task=task, number=number, vote=vote) for vote in _list_new_votes(state, evidence)),
        VerdictGiven(task=task, number=number, verdict=verdict),
        *([ApprovalRequested(approval=asked)] if asked else ()),
    )
    await notify_verdict_given(context, task)


def _list_new_votes(state: TaskState, evidence: VerdictEvidence) -> tuple[LensVote, ...]:
    return evidence.votes if state.ejection is None else ()


def _list_parallel(run: RunState, state: TaskState) -> tuple[Task, ...]:
    """Return the tasks that are at work beside one, or still to come, without its rivals."""
    unfinished = []
    for name in run.task_index.list_owners():
        task = run.tasks[name]
        is_rival = task.spec.rival_of is not None and task.spec.rival_of == state.spec.rival_of
        if not (task.status.is_terminal or is_rival):
            unfinished.append(task.spec)
    if not unfinished:
        return ()
    specs = {name: task.spec for name, task in run.tasks.items()}
    return list_parallel_tasks(state.spec, specs, unfinished)


async def _collect_evidence(
    context: RunContext, roles: Roles, state: TaskState, others: Sequence[Task]
) -> VerdictEvidence:
    end, candidate = state.ends[-1], state.own_candidate
    evidence = VerdictEvidence(exit=end.exit, detail=end.detail, revisions=_count_revisions(state))
    if end.exit != Exit.FINISHED or candidate is None:
        return evidence
    changes = await read_candidate_changes(context.repository.git, state.attempts[-1].base, candidate.commit)
    changes = changes.with_reading(await read_base_gate(context, state.attempts[-1].base, changes.files))
    evidence = evidence.with_changes(findings=await _collect_findings(context, state, candidate, changes, others))
    if any(finding.is_blocking for finding in evidence.findings):
        return evidence
    evidence = await _add_test_evidence(context, state, candidate, changes, evidence)
    if state.ejection is not None and state.verdict is not None:
        return evidence.with_changes(votes=state.verdict.verdict.votes)
    if evidence.is_green:
        context.passed_candidates.add_unit(state.unit)
        evidence = await _add_verifier_evidence(context, roles, state, candidate, evidence)
    if not evidence.is_green:
        return evidence
    if (landing := await add_landing_tests(context, state, candidate)) is not None:
        candidate, gate = landing
        evidence = evidence.with_changes(receipts=tuple(dict.fromkeys((*evidence.receipts, *gate.receipts))))
    return evidence.with_changes(votes=await collect_lens_votes(context, roles, state, candidate, evidence))


async def _add_test_evidence(
    context: RunContext,
    state: TaskState,
    candidate: CandidateTaken,
    changes: CandidateChanges,
    evidence: VerdictEvidence,
) -> VerdictEvidence:
    """Return the evidence with what the tests say of a candidate.

    Where no selection of tests is enough at first, the whole gate runs on the tree that would land. Only if that is not
    green, the candidate has to show by itself whose fault it is.
    """
    change = JudgedChange(candidate.commit, candidate.tree, state.attempts[-1].base, changes)
    tester = CandidateTester(context, state, candidate.number, change)
    if state.ejection is not None:
        return await tester.add_test_evidence(evidence)
    selection = await select_tests_of_change(context, change.commit, change.changed_paths)
    composed = None if selection else await compose_candidate(context, state, candidate)
    if composed is not None:
        found = await replace(tester, change=composed).add_test_evidence(evidence)
        if found.is_green:
            return found
    return await replace(tester, selection=selection).add_test_evidence(evidence)


async def _add_verifier_evidence(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, evidence: VerdictEvidence
) -> VerdictEvidence:
    """Return the evidence with what the tests of a verifier say of the candidate, if there are any."""
    if state.verification is None or not state.verification.counting_files:
        return evidence
    shown = await read_lens_view(context, LensView.DIFF, state.attempts[-1].base, candidate.commit)
    failures = await find_verifier_failures(context, roles, state, candidate, shown.text)
    receipts = dict.fromkeys((*state.verification.trials[-1].receipts, *failures.receipts))
    return evidence.with_changes(verifier=failures, receipts=(*evidence.receipts, *receipts))


def _count_revisions(state: TaskState) -> int:
    """Return how many revisions in a row led to the latest attempt; what a person sent back is none."""
    return len(list(takewhile(lambda attempt: attempt.mode == "revise", reversed(state.attempts))))


async def _collect_findings(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: CandidateChanges, others: Sequence[Task]
) -> tuple[Finding, ...]:
    base = state.attempts[-1].base
    leaks = await find_secret_leaks(context.repository.git, context.journal.redactor, base, candidate.commit)
    await context.policy.take_changes()
    facts = ChangeFacts(
        files=changes.files,
        lines=changes.lines,
        hunks=changes.hunks,
        sizes=changes.sizes,
        grants=state.spec.grants,
        plan_grants=state.plan_grants,
        gate_files=changes.reading.gate_files,
        support=changes.reading.support,
        is_base_watched=changes.reading.is_watched,
        doctested_files=changes.reading.doctested,
        self_testing_files=changes.reading.self_testing,
        task=state.spec,
        parallel_tasks=others,
        regenerated_files=await find_regenerated_files(context, state.spec, base, candidate.commit, changes),
        denied_paths=_find_denied_paths(context, state, changes),
        rule_files=context.config.rules.files,
        is_empty=candidate.tree == await context.read_tree_id(base),
        leaks=tuple(map(escape_path, leaks)),
        left_out_files=candidate.dropped,
        flagged_files=candidate.flagged,
    )
    return tuple(map(escape_finding, await to_thread.run_sync(check_change, facts)))


def _find_denied_paths(context: RunContext, state: TaskState, changes: CandidateChanges) -> Mapping[str, str]:
    """Return the paths of a candidate that the policy denies, also those that it took files away from."""
    touched = [file.path for file in changes.files]
    return find_denied_paths(context.policy, build_attempt_actor(state.attempts[-1]), touched)


def escape_finding(finding: Finding) -> Finding:
    """Return the finding with its text and path as they may be stored and shown."""
    return finding.model_copy(update={"text": escape_path(finding.text), "path": escape_path(finding.path)})
