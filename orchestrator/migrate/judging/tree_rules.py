"""Rules for a whole tree beside its checks: commands, tests on the old sources, test counts, `[verify] policy`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Difference, Outcomes, Receipt, ReportFormat
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.verify import Invariant
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.command_lines import fill_in_files, split_for_command_line
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.judge.gate.harness import HarnessGate
from orchestrator.ports.gate import GateResult

Policy = Literal["no-new-failures", "all-green", "same-outcomes"]
_SHOWN = 3
_SHOWN_OUTCOMES = 5


def build_command_checks(number: int, invariant: Invariant, changed: Iterable[str]) -> list[CheckSpec]:
    """Return an invariant of kind command as checks of its own; `{files}` becomes the changed files.

    More than one only where the files do not fit on one command line.
    """
    lines = [invariant.run]
    if "{files}" in invariant.run:
        lines = [fill_in_files(invariant.run, part) for part in split_for_command_line(sorted(changed))]
    report, timeout_s = ReportFormat.EXIT_CODE, invariant.timeout_s
    return [CheckSpec(id=f"invariant-{number}", run=line, report=report, timeout_s=timeout_s) for line in lines]


async def run_invariant_command(
    gate: HarnessGate, number: int, spec: CheckSpec, commit: CommitId, tree: TreeId
) -> GateResult:
    """Judge if the command of the invariant with this number exits with 0 on a tree.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    receipt = await gate.run_extra_check(spec, commit, tree, Purpose("an invariant"))
    if receipt.exit_code == 0:
        return GateResult(tree=tree, difference=Difference(), receipts=(receipt.key,))
    how = f"ended: {receipt.status}"
    if receipt.exit_code is not None:
        how = f"exits with {receipt.exit_code}"
    problem = f"the command of invariant {number} {how}"
    return GateResult(tree=tree, difference=Difference(problems=(problem,)), receipts=(receipt.key,))


def check_test_counts(state: RunState, checks: Sequence[CheckSpec], receipts: Sequence[str]) -> Difference:
    """Return a problem for each check that ran fewer tests in these receipts than on the base."""
    newest = {state.receipts[key].check: state.receipts[key] for key in receipts}
    baseline = state.get_baseline_receipts()
    problems = []
    for name in map(build_check_key, checks):
        if name in newest and name in baseline:
            before, now = _count_tests(baseline[name]), _count_tests(newest[name])
            if now < before:
                problems.append(f"{now} tests ran, {before} did on the base")
    return Difference(problems=tuple(problems))


def _count_tests(receipt: Receipt) -> int:
    return receipt.counts.total - receipt.counts.skipped


async def commit_tests_on_base(
    context: RunContext, changes: Mapping[str, tuple[str, str]]
) -> tuple[CommitId, TreeId] | None:
    """Return the base with nothing but the changed tests, as a commit; None where that says nothing new.

    Args:
        context: the run.
        changes: path → mode and blob of every changed file.
    """
    tests = {path: change for path, change in changes.items() if is_test_path(path)}
    if not tests or len(tests) == len(changes):
        return None  # without other changes the tree itself has the old sources
    return await context.commit_changes(context.state.run.base, tests, "Changed tests on the sources of the base\n")


def reword_old_source_failures(difference: Difference) -> Difference:
    """Return a difference of tests on the old sources in words that nobody takes for one of the tree itself."""
    if difference.is_green:
        return Difference()
    what = join_limited((*difference.lost_tests, *difference.unsettled), _SHOWN) or "; ".join(difference.problems)
    return Difference(problems=(f"on the old sources the changed tests fail: {what}",))


def check_policy(policy: Policy, before: Outcomes | None, now: Outcomes | None, exit_code: int | None) -> Difference:
    """Return what is wrong with a tree by the policy, beside what it lost against the base.

    Args:
        policy: as the recipe has it.
        before: outcomes on the base; None where the check tells only its exit code.
        now: outcomes on the tree.
        exit_code: how the check ended on the tree.
    """
    match policy:
        case "all-green":
            return _check_all_green(now, exit_code)
        case "same-outcomes" if before is not None and now is not None:
            return _check_same_outcomes(before, now)
    return Difference()


def _check_all_green(now: Outcomes | None, exit_code: int | None) -> Difference:
    red = tuple(sorted(test for test, outcome in (now or {}).items() if outcome.is_red))
    if red or exit_code == 0:
        return Difference(new_failures=red)
    return Difference(problems=(f"exits with {exit_code}, and policy = 'all-green' lets nothing but 0 land",))


def _check_same_outcomes(before: Outcomes, now: Outcomes) -> Difference:
    other = sorted(test for test, outcome in now.items() if before.get(test) != outcome)
    if not other:
        return Difference()
    what = join_limited((f"{test} ({before.get(test, 'new')} → {now[test]})" for test in other), _SHOWN_OUTCOMES)
    return Difference(problems=(f"policy = 'same-outcomes' lets no outcome change: {what}",))
