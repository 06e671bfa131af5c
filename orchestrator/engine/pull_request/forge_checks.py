"""Waiting for what the forge's checks say of the pull request, before the whole is judged."""

from collections.abc import Sequence

import anyio

from orchestrator.domain.event.forge import ChecksSeen
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging import forge_check
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.engine.pull_request.description import format_goal_body, format_goal_title
from orchestrator.engine.pull_request.proposal import propose_landed_work
from orchestrator.errors import LimitReached

_GROWTH = 1.5
_SLOWEST = 6
"""The longest time between two looks, in times of the first; as long may a forge take to begin its first check."""
_TICK_S = 0.5
_SHOWN = 10
_UNJUDGED = "Not judged yet: the checks here come first."


async def wait_for_landed_checks(context: RunContext) -> Sequence[forge_check.ForgeCheck]:
    """Wait for the forge's checks of all that has landed; return none where nobody waits for them.

    Its pull request is opened for that, or updated.

    Raises:
        LimitReached: they have not ended in the time that they have; resumed, the run waits on.
        PersonNeeded: a person has to let the pull request be opened first, or paused the run.
        EnvironmentProblem: the forge cannot be asked.
    """
    if not context.config.pr.checks_wait_s:
        return ()
    head = await context.read_start_commit()
    if context.state.pr is None or context.state.pr.head != head:
        await propose_landed_work(context, format_goal_title(context.state), format_goal_body(context.state, _UNJUDGED))
    pr = context.state.pr
    if pr is not None and pr.head == head:
        return await _wait_for_end(context, pr)
    return ()


async def _wait_for_end(context: RunContext, pr: PrOpened) -> Sequence[forge_check.ForgeCheck]:
    """Return the checks, when they have ended; as they are where a person no longer waits for that."""
    again, before, pause_s = context.state.goal.rejudge_count, None, context.config.pr.checks_poll_s
    while True:
        seen = forge_check.limit_checks(await context.forge.list_checks(pr.ref, CommitId(pr.head)))
        await _record_checks(context, pr, seen)
        await context.journal.record_clock_jump()
        outcome = _judge_checks(context, seen, is_steady=seen == before)
        if outcome == "late" and context.config.pr.checks_wait_s > 0:
            raise _build_late_error(context, pr, seen)
        if outcome != "waits" or context.state.goal.rejudge_count != again:
            return seen
        await _wait(context, pause_s)
        before, pause_s = seen, min(pause_s * _GROWTH, _SLOWEST * context.config.pr.checks_poll_s)


async def _record_checks(context: RunContext, pr: PrOpened, seen: tuple[forge_check.ForgeCheck, ...]) -> None:
    """Record what is seen where it is new, or where waiting begins."""
    known = context.state.forge_checks
    if context.state.forge_checks_since is None or known is None or known.checks != seen:
        await context.journal.append(ChecksSeen(forge=pr.forge, ref=pr.ref, commit=CommitId(pr.head), checks=seen))


def _judge_checks(
    context: RunContext, seen: Sequence[forge_check.ForgeCheck], *, is_steady: bool
) -> forge_check.ChecksOutcome:
    settings, now = context.config.pr, context.journal.read_clock()
    waited_s = (now - (context.state.forge_checks_since or now)).total_seconds()
    longest_s, grace_s = settings.checks_wait_s, _SLOWEST * settings.checks_poll_s
    return forge_check.compute_checks_outcome(seen, waited_s, longest_s=longest_s, grace_s=grace_s, is_steady=is_steady)


async def _wait(context: RunContext, seconds: float) -> None:
    """Let time pass, less of it where a person changed something that matters here.

    Raises:
        Interrupted: the run drains.
        PersonNeeded: somebody paused it.
    """
    until, again, settings = anyio.current_time() + seconds, context.state.goal.rejudge_count, context.config.pr
    while (left_s := until - anyio.current_time()) > 0:
        if context.state.goal.rejudge_count != again or context.config.pr != settings:
            return
        require_not_stopping(context)
        await anyio.sleep(min(left_s, _TICK_S))


def _build_late_error(context: RunContext, pr: PrOpened, seen: Sequence[forge_check.ForgeCheck]) -> LimitReached:
    run, settings = context.state.run.run, context.config.pr
    pending = join_limited(forge_check.list_check_names(seen, "pending"), _SHOWN)
    without = "--set pr.checks_wait_s=0" + " --set pr.merge=never" * (settings.merge != "never")
    return LimitReached(
        f"checks of {pr.url} have not ended within {settings.checks_wait_s:g} s: {pending}. "
        f"Nothing is rejected: see there what holds them up, then wait on with orchestrate resume {run}, or go on "
        f"without them: orchestrate resume {run} {without}"
    )
