"""What holds for a whole tree beside its checks: commands, tests on the old sources, how many tests ran."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Difference, Receipt, ReportFormat
from orchestrator.domain.run.purpose import Purpose
from orchestrator.domain.run.state import RunState
from orchestrator.judge.files.path_protection import is_test_path
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.judge.gate.harness import HarnessGate
from orchestrator.migrate.recipe import Invariant
from orchestrator.migrate.sites.command_search import split_for_command_line
from orchestrator.ports.gate import GateResult
from worktrees.git import Git
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.tree_overlay import overlay_tree


def build_command_checks(number: int, invariant: Invariant, changed: Iterable[str]) -> list[CheckSpec]:
    """An invariant of kind command as checks of its own; `{files}` becomes the changed files.

    More than one only where the files do not fit on one command line.
    """
    names = sorted(f"./{path}" if path.startswith("-") else path for path in changed)
    parts = split_for_command_line(names) if "{files}" in invariant.run else [names]
    return [
        CheckSpec(
            id=f"invariant-{number}",
            run=invariant.run.replace("{files}", " ".join(map(shlex.quote, part))),
            report=ReportFormat.EXIT_CODE,
            timeout_s=invariant.timeout_s,
        )
        for part in parts
    ]


async def run_invariant_command(gate: HarnessGate, spec: CheckSpec, commit: CommitId, tree: TreeId) -> GateResult:
    """Whether the command of an invariant exits with 0 on a tree.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    receipt = await gate.run_extra_check(spec, commit, tree, Purpose("an invariant"))
    if receipt.exit_code == 0:
        return GateResult(tree=tree, difference=Difference(), receipts=(receipt.key,))
    how = f"exits with {receipt.exit_code}" if receipt.exit_code is not None else f"ended: {receipt.status}"
    problem = f"the command of invariant {spec.id.rpartition('-')[2]} {how}"
    return GateResult(tree=tree, difference=Difference(problems=(problem,)), receipts=(receipt.key,))


def check_test_counts(state: RunState, checks: Sequence[CheckSpec], receipts: Sequence[str]) -> Difference:
    """Whether fewer tests ran in these receipts than on the base; nothing is said where the base's are not counted."""
    newest = {state.receipts[key].check: state.receipts[key] for key in receipts}
    baseline = state.get_baseline_receipts()
    problems = []
    for name in map(build_check_key, checks):
        if name in newest and name in baseline:
            before, now = _ran(baseline[name]), _ran(newest[name])
            if now < before:
                problems.append(f"{now} tests ran, {before} did on the base")
    return Difference(problems=tuple(problems))


def _ran(receipt: Receipt) -> int:
    return receipt.counts.total - receipt.counts.skipped


async def commit_tests_on_base(
    git: Git, base: CommitId, base_tree: TreeId, changes: Mapping[str, tuple[str, str]], when: str
) -> tuple[CommitId, TreeId] | None:
    """The base with nothing but the changed tests, as a commit; None where that says nothing new.

    Args:
        git: the repository.
        base: the commit that the changes started from, and its tree.
        base_tree: see there.
        changes: path → mode and blob of every changed file.
        when: the commit's date, in ISO 8601.
    """
    tests = {path: change for path, change in changes.items() if is_test_path(path)}
    if not tests or len(tests) == len(changes):
        return None  # without other changes the tree itself has the old sources
    tree = TreeId(await overlay_tree(git, base_tree, tests))
    message = "Changed tests on the sources of the base\n"
    return CommitId(await commit_tree(git, tree, [base], message, when)), tree


def reword_old_source_failures(difference: Difference) -> Difference:
    """A difference of tests on the old sources, said so that nobody takes it for one of the tree itself."""
    lost = (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped, *difference.unsettled)
    if difference.is_green:
        return Difference()
    what = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
    return Difference(
        problems=(f"on the old sources the changed tests fail: {what or '; '.join(difference.problems)}",)
    )
