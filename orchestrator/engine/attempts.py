"""Attempts: begin one, let the worker work, keep what it made as a candidate."""

from collections.abc import Iterator, Mapping

from orchestrator.domain.commands.definitions import Retry
from orchestrator.domain.event import work
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.ownership.claims import list_decisions_for
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.approval import ApprovalDecision
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, AttemptMode, EndCause, Exit, Fork, Handoff, TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.hook_points import find_attempt_veto, notify_attempt_ended
from orchestrator.engine.merging.clash_attempt import build_clash_attempt, explain_ejection
from orchestrator.engine.merging.clash_brief import build_clash_brief
from orchestrator.engine.merging.clash_steps import choose_clash_mode, count_tries
from orchestrator.engine.person_reviews import build_review_for_attempt, find_landing_answer
from orchestrator.engine.snapshot_errors import find_snapshot_obstacle
from orchestrator.engine.task_reports import build_task_report
from orchestrator.errors import EnvironmentProblem
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import Workspace
from orchestrator.ports.roles import FileBrief, Roles, SessionFailure, WorkBrief
from worktrees.diffs.file_diffs import diff_trees
from worktrees.safety.path_rules import escape_path

_REQUEST_WORDS: Mapping[ApprovalDecision, str] = {"approve": "granted", "reject": "refused"}


async def start_attempt(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Begin the next attempt at a task and carry it out."""
    state = context.state.tasks[task]
    attempt = await _next_attempt(context, roles, state)
    await context.policy.take_changes()
    role = roles.arbiter if attempt.mode == "arbitrate" else roles.worker
    engine, policy = role.get_engine_name(attempt.variant or state.spec.variant), context.policy.hash
    beginning = work.AttemptStarted(task=task, attempt=attempt, engine=engine, policy=policy)
    if veto := await find_attempt_veto(context, state, beginning):
        reason = f"refused by a hook: {veto}"
        refused = work.TaskEnded(task=task, status=TaskStatus.BLOCKED, reason=reason, cause=EndCause.REFUSED_BY_HOOK)
        await context.journal.append(refused)
        return
    await context.journal.append(beginning)
    await continue_attempt(context, roles, task)


async def continue_attempt(context: RunContext, roles: Roles, task: TaskId, file: FileBrief | None = None) -> None:
    """Carry out the attempt that the journal has as the latest, from wherever it was left.

    `file` is what the worker is told where the task is one file of a migration.
    """
    state = context.state.tasks[task]
    attempt = state.attempt
    if attempt is None:
        raise ValueError(f"task {task} is running without an attempt")
    workspace = await context.hands.open_workspace(attempt.base, Purpose.for_attempt(task, attempt.number))
    try:
        goal, gate = context.state.run.goal, context.gate.commands
        contestable = list_contestable_tests(state)
        clash = await build_clash_brief(context, attempt)
        brief = WorkBrief(
            task=state.spec,
            attempt=attempt,
            goal=goal,
            gate=gate,
            file=file,
            contestable=contestable,
            needed=tuple(build_task_report(context.state.tasks[name]) for name in state.spec.depends_on),
            decisions=tuple(list_decisions_for(context.state, task, state.spec.paths)),
            clash=clash,
        )
        result = await _work(context, roles, brief, workspace)
    finally:
        await workspace.close()
    if isinstance(result, Handoff):
        ended = work.AttemptEnded(task=task, number=attempt.number, exit=Exit.FINISHED, handoff=result)
    else:
        ended = work.AttemptEnded(task=task, number=attempt.number, exit=result.exit, detail=result.detail)
    await context.journal.append(ended)
    await notify_attempt_ended(context, task)


def list_contestable_tests(state: TaskState) -> tuple[str, ...]:
    """Return the tests of a verifier that the attempt before the latest failed, without those contested before."""
    if not state.attempts or not state.verdicts or state.verification is None:
        return ()
    number, last = state.attempts[-1].number, state.verdicts[-1]
    contested = {contest.test for contest in state.verification.contests if contest.number < number}
    if last.number >= number or state.verification.is_waived:
        return ()
    return tuple(test for test in last.verdict.verifier_failures if test not in contested)


async def _work(context: RunContext, roles: Roles, brief: WorkBrief, workspace: Workspace) -> Handoff | SessionFailure:
    """Let the worker work and take its candidate; work that cannot be kept ends the attempt, not the run."""
    attempt = brief.attempt
    try:
        if attempt.fork and attempt.fork.tree:
            await workspace.restore_tree(attempt.fork.tree)
        elif attempt.start:
            await workspace.restore_tree(await context.read_tree_id(attempt.start))
        role = roles.arbiter if attempt.mode == "arbitrate" else roles.worker
        async with context.worker_places.hold_place():
            result = await role.work_on_task(brief, workspace)
        await _take_candidate(context, attempt, workspace)
    except EnvironmentProblem as problem:
        reason = find_snapshot_obstacle(problem)
        if reason is None:
            raise
        return SessionFailure(exit=Exit.UNKEEPABLE, detail=f"its work cannot be kept: {reason}")
    return result


async def _next_attempt(context: RunContext, roles: Roles, state: TaskState) -> Attempt:
    if state.retry is not None and state.retry.turn is not None:
        return await _fork_attempt(context, roles, state, state.retry, state.retry.turn)
    answers = tuple(_list_request_answers(context.state, state.spec.id))
    clash_mode = choose_clash_mode(state, context.config.run.max_attempts)
    if clash_mode is not None:
        return await build_clash_attempt(context, roles, state, clash_mode, answers)
    mode, feedback = _explain_next_attempt(context.state, state)
    variant = context.config.roles.worker.choose_variant(state.spec.variant, count_tries(state))
    if state.attempt and state.own_candidate and (mode in {"revise", "sent-back"} or _ran_out(state)):
        base, start, clash = state.attempt.base, state.own_candidate.commit, state.attempt.clash
    else:
        base, start, clash = await context.read_start_commit(), None, None
    return Attempt(
        task=state.spec.id,
        number=len(state.attempts) + 1,
        mode=mode,
        base=base,
        model=roles.worker.get_model_name(variant),
        variant=variant,
        start=start,
        feedback=(*feedback, *answers),
        handoff=state.handoff if mode == "restart" else None,
        note=state.retry.note if state.retry else "",
        review=await build_review_for_attempt(context, state),
        clash=clash,
    )


async def _fork_attempt(context: RunContext, roles: Roles, state: TaskState, retry: Retry, turn: int) -> Attempt:
    """Return an attempt that leaves an earlier one after one of its turns, with the files and the words it had then."""
    parent = state.attempts[(retry.attempt or len(state.attempts)) - 1]
    tree = None
    for one in await context.journal.list_session_events(parent.session):
        if isinstance(one.event, work.TurnEnded) and one.event.turn <= turn:
            tree = one.event.tree
    return Attempt(
        task=state.spec.id,
        number=len(state.attempts) + 1,
        mode="fork",
        base=parent.base,
        model=roles.worker.get_model_name(parent.variant or state.spec.variant),
        variant=parent.variant,
        start=parent.start,
        note=retry.note,
        fork=Fork(session=parent.session, turn=turn, tree=tree),
    )


def _ran_out(state: TaskState) -> bool:
    """Return True if the latest attempt only lacked room: the next one goes on from its files in a new conversation."""
    if not state.ends:
        return False
    latest = state.ends[-1].exit
    return latest.is_out_of_room or latest == Exit.OUT_OF_BUDGET


def _list_request_answers(state: RunState, task: TaskId) -> Iterator[str]:
    """Yield what people answered to requests for the workers of the task: for tiers, and by the policy."""
    for wish in state.list_task_requests(task):
        if wish.decision:
            reason = f" ({wish.reason})" * bool(wish.reason)
            yield f"{_REQUEST_WORDS[wish.decision]}: {wish.approval.title}{reason}"


def _explain_next_attempt(run: RunState, state: TaskState) -> tuple[AttemptMode, tuple[str, ...]]:
    """Return how the next attempt begins, and why the latest one did not land."""
    if state.attempt is None:
        return "fresh", ()
    if state.ejection is not None:
        return "restart", explain_ejection(state.ejection)
    if state.verdict is None:
        return "restart", ()
    answer = find_landing_answer(run, state)
    if answer is not None and answer.decision == "send-back":
        return "sent-back", ()
    verdict = state.verdict.verdict
    return "revise" if verdict.kind == VerdictKind.REVISE else "restart", verdict.reasons


async def _take_candidate(context: RunContext, attempt: Attempt, workspace: Workspace) -> None:
    """Snapshot the workspace from outside, whatever the worker says of it, so that no work is ever lost."""
    key = context.journal.build_next_key(f"candidate/{attempt.task}@{attempt.number}")
    ref = context.refs.build_candidate_ref(attempt.task, attempt.number)
    message = f"{attempt.task}: attempt {attempt.number}\n\nOrchestrate-Run: {context.state.run.run}\n"
    taking = work.CandidateTaking(key=key, task=attempt.task, number=attempt.number)
    async with record_effect(context.journal, taking) as happening:
        snapshot = await workspace.take_snapshot(message, ref, attempt.base)
        changed = await diff_trees(context.repository.git, attempt.base, snapshot.commit)
        happening.done = work.CandidateTaken(
            key=key,
            task=attempt.task,
            number=attempt.number,
            commit=snapshot.commit,
            tree=snapshot.tree,
            ref=ref,
            paths=tuple(map(escape_path, changed.paths)),
            added=changed.added,
            removed=changed.removed,
            dropped=tuple(map(escape_path, snapshot.dropped)),
            flagged=tuple(map(escape_path, snapshot.flagged)),
        )
