"""The gate's run on the base, before the first planner is asked or beside it.

No worker begins before the baseline is recorded. A planner only reads, so the first one need not wait for the gate.
"""

from collections.abc import Awaitable, Callable, Sequence

from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.goal.actions import Action, PlanRound, RecordBaseline
from orchestrator.engine.goal.red_gate import ask_about_red_gate, list_silent_red_receipts


async def do_nothing() -> None:
    """Stop nothing: nobody is at work."""


async def may_plan_beside_baseline(context: RunContext) -> bool:
    """Return True if the first planner may be asked while the gate runs on the base.

    What receipts tell already needs no run, so the planner is told of it. A contract with commands needs the base, too.
    """
    state, config = context.state, context.config
    if not (config.plan.beside_baseline and context.action_order.plans_beside_baseline):
        return False
    if state.baseline or _has_work_begun(state):
        return False
    if ROOT_TASK not in state.tasks and (_needs_commands(context) or config.roles.verifier.goal != "off"):
        return False
    return not await context.gate.is_baseline_known(state.run.base, state.run.base_tree)


def _needs_commands(context: RunContext) -> bool:
    """Return True if the contract that a run is to have is checked by commands of its own."""
    return any(settings.command for settings in context.config.contract)


def _has_work_begun(state: RunState) -> bool:
    return any(task.attempts for task in state.tasks.values())


async def record_baseline(context: RunContext, stop_planner: Callable[[], Awaitable[None]] = do_nothing) -> bool:
    """Run the gate on the base unless that is known; return True if the work may begin, else the run has ended.

    `stop_planner` is called before a person is asked about a red gate.

    Raises:
        EnvironmentProblem: a check cannot serve as a gate.
        PersonNeeded: somebody has to say if there is to be work although the gate is red.
    """
    state = context.state
    receipts = await context.gate.record_baseline(state.run.base, state.run.base_tree)
    if _has_work_begun(state) or not list_silent_red_receipts(context, receipts):
        return True
    await stop_planner()
    return await ask_about_red_gate(context, receipts)


def list_actions_beside_baseline(
    state: RunState, due: Sequence[Action], busy: frozenset[Action], *, is_asked: bool
) -> list[Action]:
    """Return what of the due actions may begin while the gate runs on the base, and that run unless it is `busy`.

    The gate begins once the first planner `is_asked`, or is not at work: its checkout takes both processors from what
    the first request waits for.
    """
    planning = PlanRound(ROOT_TASK)
    allowed = list[Action]()
    is_planning = planning in due or planning in busy
    if RecordBaseline() not in busy and state.user_pause is None and (is_asked or not is_planning):
        allowed.append(RecordBaseline())
    if planning in due:
        allowed.append(planning)
    return allowed
