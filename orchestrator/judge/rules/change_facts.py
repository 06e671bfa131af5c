"""All that is known of a change when rules look at it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.domain.judging.check import Difference, TestOutcome
from orchestrator.domain.judging.run_trace import RunTrace
from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.run.grant import PLAIN_INTENTS, AnyGrant, Grant, GrantIntent
from orchestrator.domain.run.task import Task
from orchestrator.judge.behaviour.replayed_calls import ReplayedCalls
from orchestrator.judge.evolution.test_evolution import TestEvolution
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, DiffHunk
from orchestrator.judge.files.grants import build_grant_matcher
from orchestrator.judge.mutation.mutant import Mutant
from orchestrator.judge.support.division import Support
from orchestrator.judge.support.newcomers import Newcomer


def build_flag(rule: str, text: str, path: str = "", line: int | None = None) -> Finding:
    """Return a finding that is told, and blocks nothing."""
    return Finding(rule=rule, text=text, path=path, line=line, is_blocking=False)


@dataclass(frozen=True)
class NewTestOutcomes:
    """Test id → outcome on the base, on the candidate, and on the base with the candidate's new tests in it.

    Only where `is_strict` new tests that show nothing may block. `paths` are the files that have them.
    """

    before: Mapping[str, TestOutcome]
    now: Mapping[str, TestOutcome]
    without_change: Mapping[str, TestOutcome]
    is_strict: bool
    paths: Sequence[str] = ()


@dataclass(frozen=True)
class ChangeFacts:
    """The facts that rules may look at; a rule finds nothing where its facts are not given.

    Attributes:
        files: every path that differs from the base.
        lines: the lines that were added.
        hunks: lines that were taken out and put in together.
        sizes: lines added and removed, by path.
        grants: what this task may do to what is protected.
        plan_grants: those of them that nobody asked for on its behalf; None if that are all.
        gate_files: the folded paths of what the gate's commands name.
        support: of what the gate reads on the base beside product and tests, the changed files with what makes them it.
        is_base_watched: False if nobody could watch which files the gate opened on the base.
        doctested_files: the changed files of the base whose examples the gate runs as tests.
        self_testing_files: the changed files of the base that hold tests of the gate, though they are no test files.
        task: the task behind the change.
        parallel_tasks: the other tasks at work, with paths of their own.
        is_empty: the change's tree is the base's.
        leaks: which files hold which secret of the user's.
        left_out_files: what the snapshot left out, with reasons.
        flagged_files: what the snapshot took and a reviewer should know of, with reasons.
        regenerated_files: the files that the task's generator makes just as they are.
        denied_paths: the paths that the policy denies, each with the rule that does.
        rule_files: the names of files that tell agents what to do, by the user's settings.
        difference: what the gate says, once it ran.
        newcomers: the new files that the gate's run read although nobody asked for them, once it ran.
        new_tests: how new tests end with and without the change, once they ran.
        traces: the records of the gate's runs on the change, once they ran.
        base_traces: the records of the gate's runs on the base.
        replay: what came of calls in tests that were made again outside tests.
        survivors: places of the change that could be altered without a test that notices.
    """

    files: Sequence[ChangedFile] = ()
    lines: Sequence[AddedLine] = ()
    hunks: Sequence[DiffHunk] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    grants: Sequence[AnyGrant] = ()
    plan_grants: Sequence[AnyGrant] | None = None
    gate_files: frozenset[str] = frozenset()
    support: Mapping[str, Support] = field(default_factory=dict)
    is_base_watched: bool = True
    doctested_files: frozenset[str] = frozenset()
    self_testing_files: frozenset[str] = frozenset()
    task: Task | None = None
    parallel_tasks: Sequence[Task] = ()
    is_empty: bool = False
    leaks: Sequence[str] = ()
    left_out_files: Sequence[str] = ()
    flagged_files: Sequence[str] = ()
    regenerated_files: frozenset[str] = frozenset()
    denied_paths: Mapping[str, str] = field(default_factory=dict)
    rule_files: Sequence[str] = ()
    difference: Difference | None = None
    newcomers: Mapping[str, Newcomer] = field(default_factory=dict)
    new_tests: NewTestOutcomes | None = None
    traces: Sequence[RunTrace] = ()
    base_traces: Sequence[RunTrace] = ()
    replay: ReplayedCalls | None = None
    survivors: Sequence[Mutant] = ()

    def is_granted(self, path: str, *intents: GrantIntent) -> bool:
        """Return True if the plan lets this task change the path by one of these intents, or by any plain one."""
        return build_grant_matcher(self.grants, intents or PLAIN_INTENTS)(path)

    def is_excused(self, path: str) -> bool:
        """Return True if the plan, or a person, grants a file; what the work asked for does not count."""
        grants = self.grants if self.plan_grants is None else self.plan_grants
        return build_grant_matcher(grants)(path)

    @cached_property
    def evolution(self) -> TestEvolution:
        """The fates of the base's tests that were changed."""
        return TestEvolution(self.files, self.grants)

    def build_finding(
        self, rule: RuleId, text: str, path: str, line: int | None = None, *, advice: str = "", is_severe: bool = True
    ) -> Finding:
        """Return a finding that blocks if it is severe and its file is not excused; then `advice` follows."""
        is_granted = self.is_excused(path)
        is_blocking = is_severe and not is_granted
        text, granted = text + advice * is_blocking, is_severe and is_granted
        needed = Grant(paths=(path,), may=(GrantIntent.REWRITE,)) if is_blocking and path else None
        return Finding(
            rule=rule,
            text=text,
            path=path,
            line=line,
            is_blocking=is_blocking,
            is_granted=granted,
            needed_grant=needed,
        )
