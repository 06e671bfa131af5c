"""Iterations: the contract at the start, the verdict on it at the end."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.event import Event
from orchestrator.domain.event.run import ContractFrozen, IterationJudged, IterationStarted, Noticed
from orchestrator.domain.event.work import PlanningStarted, TaskCreated
from orchestrator.domain.ids import ROOT_TASK, CommitId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.judging.forge_check import ForgeCheck, list_check_names, list_failure_reasons
from orchestrator.domain.run.contract import Contract, Criterion, IterationVerdict
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.engine.goal.contract import build_contract, collect_proofs, run_criteria_on_base
from orchestrator.engine.goal.planning import build_root_task, build_task_report
from orchestrator.engine.judging.lens_votes import summarize_receipt
from orchestrator.engine.pull_request.forge_checks import wait_for_landed_checks
from orchestrator.engine.pull_request.proposal import close_for_restart
from orchestrator.judge.verdict.contract import CriterionProof, settle_contract_verdict
from orchestrator.ports.roles import CheckSummary, IterationBrief, Roles, SessionFailure, TaskReport
from worktrees.diffs.file_diffs import diff_trees, read_diff_stat

_FLAKY_SHOWN = 20


async def begin_first_iteration(context: RunContext) -> None:
    """Look at the base, freeze the contract and create the root planner's task.

    Raises:
        EnvironmentProblem: a command of the contract cannot be run.
    """
    goal = context.state.run.goal
    own = (settings.build_criterion() for settings in context.config.contract)
    contract = build_contract(goal, context.gate.commands, own)
    await run_criteria_on_base(context, contract)
    await context.journal.append(
        ContractFrozen(contract=contract),
        IterationStarted(number=1),
        TaskCreated(task=ROOT_TASK, spec=build_root_task(goal)),
    )


async def judge_iteration(context: RunContext, roles: Roles) -> IterationVerdict | SessionFailure | None:
    """Return the verdict on the whole; recorded, once, unless no answer of the judge could be understood.

    None if a person had a task tried again or changed the contract meanwhile: what was judged is not the whole any
    more. Where the forge's checks are waited for, they come first.

    Raises:
        EnvironmentProblem: a command of the contract could not be run, or the forge cannot be asked.
        LimitReached: the forge's checks have not ended in time.
    """
    state = context.state
    again, contract = state.goal.rejudge_count, state.goal.contract or Contract(criteria=())
    if len(state.goal.iterations) == state.goal.iteration:
        return state.goal.iterations[-1]
    checks = await wait_for_landed_checks(context)
    if state.goal.rejudge_count != again:
        return None
    head = await context.read_start_commit()
    proofs = await collect_proofs(context, contract, head)
    brief = await _build_brief(context, contract, head, proofs, checks)
    if state.goal.rejudge_count != again:
        return None  # the conversation's name has the new count: it may not begin with what was asked before
    answer = await roles.judge.judge_iteration(brief)
    if isinstance(answer, IterationVerdict):
        by_id = {proof.id: proof for proof in proofs}
        answer = settle_contract_verdict(contract, answer, by_id, list_failure_reasons(checks))
        await context.journal.append(IterationJudged(number=state.goal.iteration, verdict=answer, again=again))
    if state.goal.rejudge_count == again:
        return answer
    return None


async def _build_brief(
    context: RunContext,
    contract: Contract,
    head: CommitId,
    proofs: Sequence[CriterionProof],
    checks: Sequence[ForgeCheck],
) -> IterationBrief:
    state, git = context.state, context.repository.git
    leaves = [task for task in state.tasks.values() if task.spec.id != ROOT_TASK]
    receipts = context.list_receipts(proof.receipt for proof in proofs)
    changed = await diff_trees(git, state.run.base, head)
    return IterationBrief(
        goal=state.run.goal,
        number=state.goal.iteration,
        again=state.goal.rejudge_count,
        contract=contract,
        reports=tuple(map(_report_with_verdicts, leaves)),
        checks=tuple(map(_summarize_citable, receipts)),
        diffstat=await read_diff_stat(git, state.run.base, head) or "nothing changed",
        flaky=tuple(sorted(state.flaky))[:_FLAKY_SHOWN],
        forge=tuple(checks),
        citable=(
            *(task.spec.id for task in leaves),
            *_iterate_receipt_names(receipts),
            *list_check_names(checks, "passed"),
            *changed.paths,
        ),
    )


def _iterate_receipt_names(receipts: Sequence[Receipt]) -> Iterator[str]:
    for receipt in receipts:
        yield from (receipt.kind, receipt.check, receipt.key)


def _summarize_citable(receipt: Receipt) -> CheckSummary:
    """Return a receipt in words that begin with what it can be cited by."""
    summary = summarize_receipt(receipt)
    return summary.model_copy(update={"check": f"{receipt.kind} (`{summary.check}`)"})


def _report_with_verdicts(task: TaskState) -> TaskReport:
    """Return what became of a task, with every verdict on it."""
    return build_task_report(task).model_copy(update={"verdicts": tuple(_iterate_verdict_lines(task))})


def _iterate_verdict_lines(task: TaskState) -> Iterator[str]:
    for given in task.verdicts:
        verdict = given.verdict
        yield f"attempt {given.number}: {verdict.kind}, {len(verdict.receipts)} receipts"
        for reason in verdict.reasons:
            yield f"  {reason}"
        for flag in verdict.flags:
            yield f"  flagged: {flag}"
    for ejection in task.ejections:
        yield f"  the queue ejected {ejection.unit}"


async def ask_to_extend_contract(context: RunContext, verdict: IterationVerdict) -> bool:
    """Return True if a person adds to the contract what the judge misses in it; then planning begins again.

    Raises:
        PersonNeeded: there is no answer yet.
    """
    state = context.state
    if not verdict.proposals or state.goal.contract is None:
        return False
    lines = [f"{proposal.id}: {proposal.text}" for proposal in verdict.proposals]
    if context.config.approval.mode != "review":
        text = f"the judge misses in the contract: {'; '.join(lines)}"
        await context.journal.append(Noticed(level="info", text=text))
        return False
    title = f"add {len(lines)} to the criteria of the contract"
    # another name for what is judged anew: an answer holds for what was asked, and for nothing else
    subject = f"{state.goal.iteration}" + f"+{state.goal.rejudge_count}" * bool(state.goal.rejudge_count)
    added = tuple(Criterion(id=proposal.id, text=proposal.text) for proposal in verdict.proposals)
    asked = build_run_approval(context, "contract", subject, title, lines, criteria=added)
    if (await ask_person(context, asked)).decision == "deny":
        return False
    reasons = tuple(f"the contract now asks for {line}" for line in lines)
    wanted = state.goal.contract.with_criteria(added)
    await context.journal.append(
        *(
            [ContractFrozen(contract=wanted)] if wanted != state.goal.contract else ()
        ),  # what was asked by an old version
        *_begin_planning(state, (*verdict.reasons, *reasons), forget=False),
    )
    return True


async def begin_next_iteration(context: RunContext, verdict: IterationVerdict) -> None:
    """Wake the root planner with the verdict's reasons; a pull request of what is begun anew is closed.

    Raises:
        PersonNeeded, EnvironmentProblem: the forge does not let it be closed, or cannot be reached.
    """
    if verdict.decision == "restart":
        await close_for_restart(context, verdict.reasons)
    await context.journal.append(*_begin_planning(context.state, verdict.reasons, forget=verdict.decision == "restart"))


def _begin_planning(state: RunState, reasons: tuple[str, ...], *, forget: bool) -> Sequence[Event]:
    return (
        IterationStarted(number=state.goal.iteration + 1, reasons=reasons, forget=forget),
        PlanningStarted(task=ROOT_TASK, round=state.tasks[ROOT_TASK].rounds + 1),
    )
