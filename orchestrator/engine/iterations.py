"""Iterations: the contract at the start, the verdict on it at the end."""

from collections.abc import Sequence

from orchestrator.domain.contract import Contract, Criterion, IterationVerdict
from orchestrator.domain.event import Event
from orchestrator.domain.event.run import ContractFrozen, IterationJudged, IterationStarted, Noticed
from orchestrator.domain.event.work import PlanningStarted, TaskCreated
from orchestrator.domain.ids import ROOT
from orchestrator.engine.approvals import ask, question
from orchestrator.engine.context import RunContext
from orchestrator.engine.planning import report_on, root_task
from orchestrator.engine.reviewing import summarise
from orchestrator.ports.roles import IterationBrief, Roles, SessionResult
from worktrees.diff import diff_stat


async def begin(context: RunContext) -> None:
    """Freeze the contract and create the root planner's task."""
    goal = context.state.run.goal
    await context.journal.append(
        ContractFrozen(contract=contract_for(goal, context.gate.commands)),
        IterationStarted(number=1),
        TaskCreated(task=ROOT, spec=root_task(goal)),
    )


def contract_for(goal: str, gate: str) -> Contract:
    """The criteria of a run: the goal itself, and that nothing which worked is lost."""
    return Contract(
        criteria=(
            Criterion(id="goal", text=goal),
            Criterion(id="gate", text="every test that passed before passes, and none is lost", command=gate),
        )
    )


async def judge_iteration(context: RunContext, roles: Roles) -> IterationVerdict | SessionResult | None:
    """The judge's verdict on the whole; recorded, once, unless no answer could be understood.

    None if a person had a task tried again meanwhile: what was judged is not the whole any more.
    """
    state = context.state
    again = state.judged_again
    if len(state.iterations) == state.iteration:
        return state.iterations[-1]
    head = await context.head()
    gate = await context.gate.judge(head, await context.tree(head), f"iteration {state.iteration}")
    brief = IterationBrief(
        goal=state.run.goal,
        number=state.iteration,
        again=again,
        contract=state.contract or Contract(criteria=()),
        reports=tuple(report_on(task) for task in state.tasks.values() if task.spec.id != ROOT),
        checks=tuple(summarise(state.receipts[key]) for key in gate.receipts),
        diffstat=await diff_stat(context.repository.git, state.run.base, head) or "nothing changed",
    )
    verdict = await roles.judge.judge_iteration(brief)
    if state.judged_again != again:
        return None
    if isinstance(verdict, IterationVerdict):
        await context.journal.append(IterationJudged(number=state.iteration, verdict=verdict))
    return verdict


async def amend(context: RunContext, verdict: IterationVerdict) -> bool:
    """Whether a person adds to the contract what the judge misses in it; then planning begins again.

    Raises:
        PersonNeeded: there is no answer yet.
    """
    state = context.state
    if not verdict.proposals or state.contract is None:
        return False
    lines = [f"{proposal.id}: {proposal.text}" for proposal in verdict.proposals]
    if context.config.approval.mode != "review":
        text = f"the judge misses in the contract: {'; '.join(lines)}"
        await context.journal.append(Noticed(level="info", text=text))
        return False
    title = f"add {len(lines)} to the criteria of the contract"
    if (await ask(context, question(context, "contract", str(state.iteration), title, lines))).decision == "deny":
        return False
    added = tuple(Criterion(id=proposal.id, text=proposal.text) for proposal in verdict.proposals)
    reasons = tuple(f"the contract now asks for {line}" for line in lines)
    await context.journal.append(
        ContractFrozen(contract=Contract(criteria=(*state.contract.criteria, *added))),
        *_planning(context, (*verdict.reasons, *reasons), forget=False),
    )
    return True


async def begin_again(context: RunContext, verdict: IterationVerdict) -> None:
    """Wake the root planner with the verdict's reasons."""
    await context.journal.append(*_planning(context, verdict.reasons, forget=verdict.decision == "restart"))


def _planning(context: RunContext, reasons: tuple[str, ...], *, forget: bool) -> Sequence[Event]:
    state = context.state
    return (
        IterationStarted(number=state.iteration + 1, reasons=reasons, forget=forget),
        PlanningStarted(task=ROOT, round=state.tasks[ROOT].rounds + 1),
    )
