"""Iterations: the contract at the start, what the harness sees of it, and the verdict on it at the end."""

from collections.abc import Iterable, Iterator, Sequence

from orchestrator.domain.event import Event
from orchestrator.domain.event.run import ContractFrozen, IterationJudged, IterationStarted, Noticed
from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId, build_contract_subject
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.domain.judging.forge_check import ForgeCheck, list_check_names, list_failure_reasons
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.restart.restart_states import list_restart_states
from orchestrator.domain.run.contract import GATE_CRITERION, GOAL_CRITERION, Contract, Criterion, IterationVerdict
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Exit, TaskStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.engine.field_guide import record_planner_proposals
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.engine.goal.restart import build_planning_events, restart_from_verdict
from orchestrator.engine.pull_request.forge_checks import wait_for_landed_checks
from orchestrator.engine.task_reports import build_task_report, summarize_receipt
from orchestrator.engine.verification.criterion_runs import run_criterion_command
from orchestrator.engine.verification.goal_checks import propose_criteria
from orchestrator.errors import EnvironmentProblem
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.judge.verdict.contract import CriterionProof, settle_contract_verdict, settle_restart_state
from orchestrator.judge.verdict.decision import VerdictEvidence, list_red_reasons
from orchestrator.ports.gate import GateResult
from orchestrator.ports.roles import CheckSummary, IterationBrief, Roles, SessionFailure, TaskReport
from worktrees.diffs.file_diffs import diff_trees, read_diff_stat

_NOT_FOUND = frozenset({126, 127})
"""What a shell exits with when there is no such command, or it cannot be executed."""


def build_contract(goal: str, gate: str, own: Iterable[Criterion] = ()) -> Contract:
    """Return the criteria of a run: the goal itself, that nothing which worked is lost, and what its user asks for."""
    nothing_lost = "every test that passed before passes, and none is lost"
    usual = Criterion(id=GOAL_CRITERION, text=goal), Criterion(id=GATE_CRITERION, text=nothing_lost, command=gate)
    return Contract(criteria=(*usual, *own))


async def run_criteria_on_base(context: RunContext, contract: Contract) -> None:
    """Run what the criteria are checked by on the base, so that it is known what was met before anything changed.

    Raises:
        EnvironmentProblem: a command cannot be run, so nothing could ever meet its criterion.
    """
    run = context.state.run
    for criterion in _iterate_command_criteria(contract):
        receipt = await run_criterion_command(context, criterion, run.base, Purpose("contract"))
        _require_started(criterion, receipt)
        if receipt.exit_code in _NOT_FOUND:
            raise EnvironmentProblem(
                f"the command `{criterion.command}` of criterion {criterion.id} was not found on the base, or cannot "
                f"be executed (exit code {receipt.exit_code}): install it into the project's environment, bind where "
                "it lies with --read-only DIR, or, if the run is to make it, let it fail before: test -x FILE && FILE"
            )


async def collect_proofs(context: RunContext, contract: Contract, head: CommitId) -> tuple[CriterionProof, ...]:
    """Return what the harness sees of every criterion that has a command, on a commit that landed.

    Raises:
        EnvironmentProblem: a command could not be run.
    """
    tree, purpose = await context.read_tree_id(head), Purpose(f"iteration {context.state.goal.iteration}")
    result = await context.gate.judge_tree(head, tree, purpose, reruns=context.config.gate.reruns)
    proofs = [await _prove_gate(context, result)]
    for criterion in _iterate_command_criteria(contract):
        receipt = await run_criterion_command(context, criterion, head, purpose)
        _require_started(criterion, receipt)
        red = await _describe_failure(context, receipt)
        proofs.append(CriterionProof(id=criterion.id, receipt=receipt.key, red=red))
    return tuple(proofs)


def _iterate_command_criteria(contract: Contract) -> Iterator[Criterion]:
    """Yield the criteria that a command of their own checks."""
    for criterion in contract.criteria:
        if criterion.command and criterion.id != GATE_CRITERION:
            yield criterion


def _require_started(criterion: Criterion, receipt: Receipt) -> None:
    if receipt.status == ReceiptStatus.NOT_STARTED:
        raise EnvironmentProblem(f"the command `{receipt.command}` of criterion {criterion.id} could not be started")


async def _prove_gate(context: RunContext, gate: GateResult) -> CriterionProof:
    key = gate.receipts[-1]
    if gate.difference.is_green:
        return CriterionProof(id=GATE_CRITERION, receipt=key)
    excerpt = extract_failure_excerpt(await context.journal.read_text(context.state.receipts[key].output), ())
    lost = list_red_reasons(VerdictEvidence(exit=Exit.FINISHED, difference=gate.difference, excerpt=excerpt))
    return CriterionProof(id=GATE_CRITERION, receipt=key, red="\n".join(lost))


async def _describe_failure(context: RunContext, receipt: Receipt) -> str:
    """Return how a command failed and what it printed; empty if it exits 0."""
    if receipt.status == ReceiptStatus.COMPLETED and receipt.exit_code == 0:
        return ""
    how = f"exits {receipt.exit_code}" if receipt.status == ReceiptStatus.COMPLETED else f"ended {receipt.status}"
    printed = extract_failure_excerpt(await context.journal.read_text(receipt.output), ())
    return f"`{receipt.command}` {how}" + (f"; it printed:\n{printed}" if printed else "")


_FLAKY_SHOWN = 20


async def begin_first_iteration(context: RunContext, roles: Roles) -> None:
    """Look at the base, freeze the contract and create the root planner's task.

    Where that is configured, a verifier adds checks of its own to the contract first.

    They are recorded together, but the repair of a journal may have kept only the first of them.

    Raises:
        EnvironmentProblem: a command of the contract cannot be run.
        PersonNeeded: somebody has to say yes to the verifier's checks.
    """
    goal, first = context.state.run.goal, list[Event]()
    if context.state.goal.contract is None:
        own = (settings.build_criterion() for settings in context.config.contract)
        contract = build_contract(goal, context.gate.commands, own)
        await run_criteria_on_base(context, contract)
        contract = contract.with_criteria(await propose_criteria(context, roles, contract))
        first.append(ContractFrozen(contract=contract))
    if not context.state.goal.iteration:
        first.append(IterationStarted(number=1))
    await context.journal.append(*first, TaskCreated(task=ROOT_TASK, spec=build_root_task(goal)))


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
        answer = settle_restart_state(answer, brief.states)
        judged = IterationJudged(number=state.goal.iteration, verdict=answer, again=again, head=head)
        await context.journal.append(judged)
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
    proposals = await record_planner_proposals(context, head)
    leaves = [task for task in _iterate_plan(state, ROOT_TASK) if is_shown_to_judge(state, task)]
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
        states=list_restart_states(state),
        citable=(
            *(task.spec.id for task in leaves),
            *_iterate_receipt_names(receipts),
            *list_check_names(checks, "passed"),
            *changed.paths,
        ),
        proposals=proposals,
    )


def _iterate_plan(state: RunState, planner: TaskId) -> Iterator[TaskState]:
    """Yield all tasks below a planner's, each with those below it: in one order, whoever planned first."""
    for child in state.iterate_children(planner):
        yield child
        yield from _iterate_plan(state, child.spec.id)


def is_shown_to_judge(state: RunState, task: TaskState) -> bool:
    """Return True if a task belongs to what is judged: not the whole goal's, and none that a restart left behind."""
    if task.spec.id == ROOT_TASK or task.status == TaskStatus.DISCARDED:
        return False
    return task.status == TaskStatus.MERGED or task.spec.id not in state.goal.hidden_tasks


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
    subject = build_contract_subject(state.goal.iteration, state.goal.rejudge_count)
    added = tuple(Criterion(id=proposal.id, text=proposal.text) for proposal in verdict.proposals)
    asked = build_run_approval(context, "contract", subject, title, lines, criteria=added)
    if (await ask_person(context, asked)).decision == "reject":
        return False
    reasons = tuple(f"the contract now asks for {line}" for line in lines)
    wanted = state.goal.contract.with_criteria(added)
    if wanted != state.goal.contract:  # what was asked by an old version
        await context.journal.append(ContractFrozen(contract=wanted))
    await _begin_iteration(context, verdict, (*verdict.reasons, *reasons))
    return True


async def begin_next_iteration(context: RunContext, verdict: IterationVerdict) -> None:
    """Wake the root planner with the verdict's reasons; a restart leaves behind what landed since the last good state.

    Raises:
        PersonNeeded, EnvironmentProblem: see `restart_from_verdict`.
    """
    await _begin_iteration(context, verdict, verdict.reasons)


async def _begin_iteration(context: RunContext, verdict: IterationVerdict, reasons: tuple[str, ...]) -> None:
    if verdict.decision == "restart":
        await restart_from_verdict(context, verdict, reasons)
    else:
        await context.journal.append(*build_planning_events(context.state, reasons, forget=False))
