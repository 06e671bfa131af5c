"""The tests of a verifier in the candidate itself, for a task whose plan asks that they land with the change."""

from orchestrator.domain.event.work import CandidateTaken, CandidateTaking
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.judging.verifier_tests import VerifierFile, VerifierFileKind
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.verification.test_runs import VerifierTestRunner
from orchestrator.judge.gate.verifier_outcomes import select_file_outcomes
from orchestrator.ports.effect import record_effect
from orchestrator.ports.gate import GateResult
from worktrees.diffs.file_diffs import diff_trees
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.trees import map_tree
from worktrees.ref_store.refs import set_ref
from worktrees.safety.path_rules import escape_path


async def add_landing_tests(
    context: RunContext, state: TaskState, candidate: CandidateTaken
) -> tuple[CandidateTaken, GateResult] | None:
    """Return a candidate that is recorded in place of a green one and has the verifier's tests, with its gate's word.

    None if the task does not ask for that, no file can be added, or the gate is not green with them: then the change is
    to land without them. Files are left out that the change has itself, and those of which a test was dropped.
    """
    files = await _select_landing_files(context, state, candidate) if state.spec.lands_tests else ()
    if not files:
        return None
    _, tree = await VerifierTestRunner(context).create_commit(candidate.commit, files)
    commit = await _commit_candidate(context, state, candidate, tree)
    purpose = Purpose.for_attempt(state.spec.id, candidate.number).with_detail("with the verifier's tests in it")
    gate = await context.gate.judge_tree(commit, tree, purpose, reruns=context.config.gate.reruns)
    if not gate.difference.is_green:
        return None
    paths = tuple(file.path for file in files)
    return await _record_candidate(context, state, candidate, commit, tree, paths), gate


async def _select_landing_files(
    context: RunContext, state: TaskState, candidate: CandidateTaken
) -> tuple[VerifierFile, ...]:
    verification = context.state.tasks[state.spec.id].verification
    if verification is None:
        return ()
    known = await map_tree(context.repository.git, candidate.commit)
    dropped = dict.fromkeys(verification.dropped_tests, TestOutcome.FAILED)
    chosen = []
    for file in verification.counting_files:
        has_dropped_test = file.path in dropped or select_file_outcomes(file.path, dropped)
        can_land = file.kind == VerifierFileKind.TESTS and file.path not in known
        if can_land and not has_dropped_test:
            chosen.append(file)
    return tuple(chosen)


async def _commit_candidate(context: RunContext, state: TaskState, candidate: CandidateTaken, tree: TreeId) -> CommitId:
    git, base = context.repository.git, state.attempts[-1].base
    message = f"{state.spec.id}: attempt {candidate.number}\n\nOrchestrate-Run: {context.state.run.run}\n"
    return CommitId(await commit_tree(git, tree, [base], message, context.commit_date))


async def _record_candidate(
    context: RunContext,
    state: TaskState,
    candidate: CandidateTaken,
    commit: CommitId,
    tree: TreeId,
    paths: tuple[str, ...],
) -> CandidateTaken:
    key = context.journal.build_next_key(f"candidate/{state.spec.id}@{candidate.number}")
    taking = CandidateTaking(key=key, task=state.spec.id, number=candidate.number)
    async with record_effect(context.journal, taking) as happening:
        await set_ref(context.repository.git, candidate.ref, commit)
        changed = await diff_trees(context.repository.git, state.attempts[-1].base, commit)
        changes = {
            "key": key,
            "commit": commit,
            "tree": tree,
            "paths": tuple(map(escape_path, changed.paths)),
            "added": changed.added,
            "removed": changed.removed,
            "verifier_tests": tuple(map(escape_path, paths)),
        }
        taken = candidate.model_copy(update=changes)
        happening.done = taken
    return taken
