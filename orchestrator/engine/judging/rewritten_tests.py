"""Tests that a grant let be rewritten: how the old and the new version end, with the change and without it.

Where an old test fails now, another thing is expected: then the new one has to fail on the base, or it asks for
less.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from orchestrator.domain.judging.check import (
    NEW_TESTS_CHECK,
    OLD_TESTS_CHECK,
    PASSED_OUTCOMES,
    Outcomes,
    Receipt,
)
from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.grant import GrantIntent
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import JudgedChange
from orchestrator.engine.judging.mixed_runs import run_mixed_tests
from orchestrator.judge.evolution.fates import TestFate
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.evolution.test_functions import EvolvingTest
from orchestrator.judge.evolution.test_ids import TestIdIndex

_MAX_SHOWN = 5
_NOTHING: tuple[Sequence[Receipt], Outcomes] = ((), {})


@dataclass(frozen=True)
class RewriteReport:
    """The findings on rewritten tests, with the receipts behind them."""

    findings: Sequence[Finding] = ()
    receipts: Sequence[Receipt] = ()


@dataclass(frozen=True)
class FourOutcomes:
    """The outcomes of a test's old and new version on base and candidate: True if it passes, None if it did not run."""

    old_on_base: bool | None
    old_on_candidate: bool | None
    new_on_base: bool | None
    new_on_candidate: bool | None

    @property
    def asks_for_less(self) -> bool:
        """True if the old version passed and fails with the change, while the new one passes with and without it."""
        is_changed = self.old_on_base is True and self.old_on_candidate is not True
        return is_changed and self.new_on_base is True

    def describe_rewrite(self, name: str) -> str:
        """Return all four in words."""
        old = f"{_describe_end(self.old_on_base)} on the base and {_describe_end(self.old_on_candidate)} now"
        new = f"{_describe_end(self.new_on_base)} on the base and {_describe_end(self.new_on_candidate)} now"
        return f"{name} was rewritten: the old one {old}, the new one {new}"


async def judge_rewrites(
    context: RunContext, change: JudgedChange, evolution: TestEvolution, purpose: Purpose, now: Outcomes | None
) -> RewriteReport:
    """Run the old versions of rewritten tests on the candidate and the new ones on the base; nothing if there are none.

    `now` are the outcomes of the candidate's own tests. It costs two runs of the tests that were rewritten, and nothing
    where the gate names no tests or `[gate] new_tests` is off.
    """
    mode = context.config.gate.new_tests
    fates = await to_thread.run_sync(lambda: list(_iterate_rewritten(evolution)))
    if mode == "off" or not fates or now is None:
        return RewriteReport()
    base, candidate, paths = change.base, change.commit, _list_paths(fates)
    base_tree = await context.read_tree_id(base)
    before = await context.gate.collect_outcomes(base, base_tree, purpose.with_detail("its base"))
    if before is None:
        return RewriteReport()
    purpose = purpose.with_detail("rewritten tests")
    held, old = await run_mixed_tests(context, candidate, base, paths, OLD_TESTS_CHECK, purpose) or _NOTHING
    mixed, new = await run_mixed_tests(context, base, candidate, paths, NEW_TESTS_CHECK, purpose) or _NOTHING
    findings = []
    for fate in fates:
        read = partial(_has_passed, evolution=evolution)
        outcomes = FourOutcomes(
            old_on_base=read(before, fate.old),
            old_on_candidate=read(old, fate.old),
            new_on_base=read(new, fate.successors[0]),
            new_on_candidate=read(now, fate.successors[0]),
        )
        findings.append(_build_finding(fate, outcomes, is_strict=mode == "red"))
    return RewriteReport(tuple(_limit_findings(findings)), (*held, *mixed))


def _iterate_rewritten(evolution: TestEvolution) -> Iterator[TestFate]:
    for fate in evolution.fates:
        is_test = fate.old.is_collected or fate.old.runs_elsewhere
        is_rewritten = fate.needs == GrantIntent.REWRITE and is_test and fate.successors
        if is_rewritten and evolution.allows_fate(fate):
            yield fate


def _list_paths(fates: Sequence[TestFate]) -> Sequence[str]:
    paths: dict[str, None] = {}
    for fate in fates:
        paths[fate.old.function.path] = None
        for one in fate.successors:
            paths[one.function.path] = None
    return list(paths)


def _has_passed(outcomes: Outcomes, test: EvolvingTest, evolution: TestEvolution) -> bool | None:
    found = evolution.find_ids(test, TestIdIndex(outcomes))
    if not found:
        return None
    return all(outcomes[name] in PASSED_OUTCOMES for name in found)


def _describe_end(has_passed: bool | None) -> str:
    if has_passed is None:
        return "did not run"
    return "passed" if has_passed else "failed"


def _build_finding(fate: TestFate, outcomes: FourOutcomes, *, is_strict: bool) -> Finding:
    function = fate.successors[0].function
    text = f"{function.path}:{function.node.lineno} {outcomes.describe_rewrite(fate.old.last_name)}"
    if outcomes.asks_for_less:
        text += ": it asks for less than before; let it expect what is new, so that it fails without the change"
    is_blocking = is_strict and outcomes.asks_for_less
    line = function.node.lineno
    return Finding(rule=RuleId.EVOLVED, text=text, path=function.path, line=line, is_blocking=is_blocking)


def _limit_findings(findings: Sequence[Finding]) -> Iterator[Finding]:
    told = 0
    for finding in findings:
        told += not finding.is_blocking
        if finding.is_blocking or told <= _MAX_SHOWN:
            yield finding
    if told > _MAX_SHOWN:
        text = f"and {told - _MAX_SHOWN} more tests were rewritten"
        yield Finding(rule=RuleId.EVOLVED, text=text, is_blocking=False)
