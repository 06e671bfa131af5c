"""A restart: the PR branch goes back to the last good state, a ref keeps what is left, and planning begins afresh."""

from collections.abc import Sequence

import anyio

from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import RefSet, RefSetting, RewindFinished, RewindStarted
from orchestrator.domain.event.run import IterationReopened, IterationStarted, Noticed
from orchestrator.domain.event.work import PlanningStarted
from orchestrator.domain.ids import ROOT_TASK, CommitId
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count
from orchestrator.engine.context import RunContext
from orchestrator.engine.pull_request.proposal import close_for_restart
from orchestrator.engine.pull_request.squash import count_foreign_commits
from orchestrator.ports.effect import record_effect
from worktrees.errors import RefMoved
from worktrees.ref_store.refs import set_ref

_DONE_FIELDS = {"key", "branch", "iteration", "old", "new", "kept", "foreign"}


async def restart_from_verdict(context: RunContext, verdict: IterationVerdict, reasons: tuple[str, ...]) -> None:
    """Take the PR branch back to the state that a verdict names, and begin the next iteration with these reasons.

    Nothing is moved if the branch does not stand any more where it was judged: then the iteration is judged anew.

    Raises:
        PersonNeeded: the branch is checked out, or was moved away; or the forge does not let a pull request be closed.
        EnvironmentProblem: the forge cannot be reached.
    """
    state = context.state
    again, tip = state.goal.rejudge_count, await context.read_branch_tip()
    if state.landings and state.goal.judged_head not in (None, tip):
        await _reopen_iteration(context)
        return
    await close_for_restart(context, verdict.reasons)
    if state.goal.rejudge_count != again:
        return
    target = CommitId(verdict.restart_from or state.run.base)
    if tip is None or tip == target:
        await context.journal.append(*build_planning_events(state, reasons, forget=True))
        return
    try:
        await _leave_line(context, tip, target, reasons)
    except RefMoved:
        await _reopen_iteration(context)


async def _reopen_iteration(context: RunContext) -> None:
    branch = context.branch.name
    reason = f"{branch} was moved after iteration {context.state.goal.iteration} was judged: it is judged anew"
    reopened = IterationReopened(number=context.state.goal.iteration, reason=reason)
    await context.journal.append(reopened, Noticed(level="warning", text=reason))


async def _leave_line(context: RunContext, tip: CommitId, target: CommitId, reasons: tuple[str, ...]) -> None:
    state = context.state
    kept = await _keep_tip(context, tip)
    foreign = await count_foreign_commits(context, target, tip)
    started = RewindStarted(
        key=context.journal.build_next_key(f"rewind/{context.branch.name}/{tip}"),
        branch=context.branch.name,
        iteration=state.goal.iteration,
        old=tip,
        new=target,
        kept=kept,
        foreign=foreign,
        reasons=reasons,
    )
    with anyio.CancelScope(shield=True):  # whoever is stopped now must know whether it has moved
        async with record_effect(context.journal, started) as rewinding:
            await context.branch.move_back(tip, target, f"orchestrate: restart after iteration {started.iteration}")
            rewinding.done = finish_rewind(started)
            rewinding.extra_events = tuple(build_next_events(state, started))


async def _keep_tip(context: RunContext, tip: CommitId) -> str:
    """Have a ref of the run's own keep a tip of the branch, and return the ref's name."""
    goal = context.state.goal
    earlier = sum(line.iteration == goal.iteration for line in goal.left_lines)
    ref = context.refs.build_iteration_ref(goal.iteration, earlier)
    setting = RefSetting(key=context.journal.build_next_key(f"ref/{ref}"), ref=ref, object=tip)
    async with record_effect(context.journal, setting) as happening:
        await set_ref(context.repository.git, ref, tip)
        happening.done = RefSet(key=setting.key)
    return ref


def finish_rewind(started: RewindStarted) -> RewindFinished:
    """Return the event that a rewind which was begun has happened."""
    return RewindFinished(**started.model_dump(include=_DONE_FIELDS))


def build_next_events(state: RunState, started: RewindStarted) -> Sequence[Event]:
    """Return what is recorded together with the end of a rewind: the next iteration, and whose commits were left."""
    begun = build_planning_events(state, started.reasons, forget=True)
    if not started.foreign:
        return begun
    count = format_count(started.foreign, "commit")
    text = (
        f"{count} that this run did not make stood on {started.branch} and were left behind with iteration "
        f"{started.iteration}: they are kept in {started.kept} (git log {started.new[:12]}..{started.kept})"
    )
    notice = Noticed(level="warning", code=NoticeCode.COMMITS_LEFT_BEHIND, subject=started.kept, text=text)
    return (*begun, notice)


def build_planning_events(state: RunState, reasons: tuple[str, ...], *, forget: bool) -> Sequence[Event]:
    """Return the beginning of the next iteration; with `forget` planners do not see what was done before."""
    return (
        IterationStarted(number=state.goal.iteration + 1, reasons=reasons, forget=forget),
        PlanningStarted(task=ROOT_TASK, round=state.tasks[ROOT_TASK].rounds + 1),
    )


def is_restart_under_way(state: RunState) -> bool:
    """Return True if the branch went back already, and the next iteration has not begun."""
    judged = state.goal.iterations
    return len(judged) == state.goal.iteration and bool(judged) and judged[-1].decision == "restart"
