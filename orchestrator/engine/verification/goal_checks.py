"""Checks that a verifier makes of a goal before the first plan: criteria of the contract with commands or tests."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from anyio import to_thread

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import ROOT_TASK, build_contract_subject
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.domain.judging.verifier_tests import BaseOutcome, VerifierFile
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.contract import Contract, Criterion
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.engine.verification.criterion_runs import run_criterion_command
from orchestrator.engine.verification.test_runs import VerifierTestRunner
from orchestrator.judge.files.verifier_files import find_file_problem
from orchestrator.judge.gate.narrowed_command import narrow_to_files
from orchestrator.ports.ledger import record_notice_once
from orchestrator.ports.roles import GoalBrief, ProposedCheck, Roles, SessionFailure
from worktrees.object_store.trees import list_tree

MAX_CHECKS = 8
"""Checks that a verifier may add to a contract."""
_NOT_FOUND = frozenset({126, 127})
"""Exit codes of a shell that has no such command, or cannot execute it."""


async def propose_criteria(context: RunContext, roles: Roles, contract: Contract) -> tuple[Criterion, ...]:
    """Return the criteria that a verifier adds to the contract, each with a check that can be run on the base.

    A person is asked first where they review. What cannot be run is dropped, which a notice says.

    Raises:
        PersonNeeded: there is no answer yet.
    """
    settings = context.config.roles.verifier
    if not settings.model or settings.goal == "off":
        return ()
    run = context.state.run
    trial = _CheckTrial(context, contract)
    workspace = await context.hands.open_workspace(run.base, Purpose("a verifier's checks of the goal"))
    try:
        brief = GoalBrief(goal=run.goal, contract=contract, gate=context.gate.commands, max_checks=MAX_CHECKS)
        result = await roles.verifier.propose_checks(brief, workspace, trial.try_checks)
    finally:
        await workspace.close()
    await _record_problems(context, trial.problems, result)
    added = tuple(trial.criteria)
    if not added or context.config.approval.mode != "review":
        return added
    return await _ask_to_add(context, added)


async def _record_problems(context: RunContext, problems: Sequence[str], result: object) -> None:
    lines = list(problems)
    if isinstance(result, SessionFailure):
        lines.append(f"{result.exit} {result.detail}".strip())
    if lines:
        text = f"checks that the verifier made of the goal and that do not count: {'; '.join(lines)}"
        code = NoticeCode.VERIFIER_TESTS_DROPPED
        await record_notice_once(context.journal, Noticed(level="info", code=code, subject=ROOT_TASK, text=text))


async def _ask_to_add(context: RunContext, added: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
    """Return what a person lets be added; the question is as old as the contract that it is about."""
    lines = [f"{criterion.id}: {criterion.text} ({criterion.command})" for criterion in added]
    goal = context.state.goal
    subject = build_contract_subject(goal.iteration, goal.rejudge_count)
    title = f"add {len(added)} checks of the verifier to the contract"
    asked = build_run_approval(context, "contract", subject, title, lines, criteria=added)
    if (await ask_person(context, asked)).decision == "approve":
        return added
    return ()


@dataclass
class _CheckTrial:
    """Tries a verifier's checks on the base; `criteria` and `problems` are those of its last submission."""

    context: RunContext
    contract: Contract
    criteria: list[Criterion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    async def try_checks(self, proposed: Sequence[ProposedCheck]) -> Sequence[str]:
        """Return what has to be mended: what cannot be run on the base, where it may well be red."""
        self.criteria, self.problems = [], []
        for check in proposed[:MAX_CHECKS]:
            criterion = await self._build_criterion(check, f"v{len(self.criteria) + 1}")
            problem = await self._find_static_problem(check, criterion) or await self._find_run_problem(criterion)
            if problem:
                self.problems.append(f"{check.text}: {problem}")
            else:
                self.criteria.append(criterion)
        if len(proposed) > MAX_CHECKS:
            self.problems.append(f"there are {len(proposed)} checks; submit at most {MAX_CHECKS}")
        return self.problems

    async def _build_criterion(self, check: ProposedCheck, name: str) -> Criterion:
        while name in self.contract.ids:
            name = f"{name}-v"
        if not check.path:
            return Criterion(id=name, text=check.text, command=check.command)
        content = await self.context.journal.store_text(check.test)
        file = VerifierFile(path=check.path, base_outcome=BaseOutcome.NEW_BEHAVIOUR, content=content)
        narrow = narrow_to_files(self.context.gate.checks[0], [check.path])
        command = narrow.run if narrow else ""
        return Criterion(id=name, text=check.text, command=command, files=(file,))

    async def _find_static_problem(self, check: ProposedCheck, criterion: Criterion) -> str:
        if not check.text.strip():
            return "say in words what has to hold"
        if not criterion.command or not criterion.command.strip():
            return "it needs a command, since the project's own runner cannot be narrowed to a file of tests"
        if not check.path:
            return ""
        paths = {entry.path for entry in await list_tree(self.context.repository.git, self.context.state.run.base)}
        return await to_thread.run_sync(find_file_problem, check.path, check.test, paths, frozenset[str]())

    async def _find_run_problem(self, criterion: Criterion) -> str:
        run = self.context.state.run
        receipt = await run_criterion_command(self.context, criterion, run.base, Purpose("contract"))
        if problem := _describe_unrunnable(receipt):
            return problem
        if criterion.files:
            runs = await VerifierTestRunner(self.context).run_files(run.base, criterion.files, Purpose("contract"))
            if not runs[criterion.files[0].path].outcomes:
                return "none of its tests ran on the base: put it where the project's runner finds tests"
        return ""


def _describe_unrunnable(receipt: Receipt) -> str:
    if receipt.status != ReceiptStatus.COMPLETED:
        return f"its command ended {receipt.status} on the base"
    if receipt.exit_code in _NOT_FOUND:
        return f"its command was not found on the base (exit code {receipt.exit_code})"
    return ""
