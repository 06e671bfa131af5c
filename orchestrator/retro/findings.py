"""Find what keeps going wrong under one prompt: in several tasks, in several runs, and too often to be chance."""

from collections.abc import Iterable, Mapping, Sequence

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.judging.verdict import RuleId
from orchestrator.retro.decisions import CauseKind, DecisionCause, JudgedDecision, PromptUse
from orchestrator.retro.rates import bound_rate

LEAST_TASKS = 3
LEAST_RUNS = 2
LEAST_RATE = 0.2
LEAST_RATE_OF_COMMON = 0.5
"""The least lower bound of the rate. Red tests, vetoes and sessions that come to no end happen to sound prompts too."""
_COMMON_KINDS = frozenset({CauseKind.VERDICT, CauseKind.EXIT})
_COMMON_RULES = frozenset({RuleId.FLAKY.value, RuleId.EMPTY.value, RuleId.SIZE.value})
_TaskKey = tuple[RunId, TaskId]


class PromptFinding(FrozenModel):
    """One cause that keeps coming under one prompt.

    `tasks` of `all_tasks` under the prompt had it, in `runs` of `all_runs`; `low` is the lower bound of that rate.
    `lost` is what the decisions with the cause cost. `decisions` are those, the newest first.
    """

    use: PromptUse
    cause: DecisionCause
    tasks: int
    all_tasks: int
    runs: int
    all_runs: int
    low: float
    lost: Usage
    decisions: tuple[JudgedDecision, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it happened to."""
        return tuple(sorted({decision.model for decision in self.decisions}))

    @property
    def recipes(self) -> tuple[str, ...]:
        """The recipes of the migrations that it happened in; empty for goals."""
        return tuple(sorted({decision.recipe for decision in self.decisions if decision.recipe}))


def find_weak_prompts(decisions: Iterable[JudgedDecision]) -> Sequence[PromptFinding]:
    """Return what keeps going wrong under each prompt, the most frequent first; nothing in healthy runs."""
    by_use: dict[PromptUse, list[JudgedDecision]] = {}
    for decision in decisions:
        if decision.outcome != "open" or decision.faults:
            by_use.setdefault(decision.use, []).append(decision)
    found = []
    for use, own in by_use.items():
        for cause in sorted({cause for decision in own for cause in decision.causes}, key=_order_cause):
            finding = _build_finding(use, cause, own)
            if _is_beyond_bounds(finding):
                found.append(finding)
    return sorted(found, key=lambda finding: (-finding.low, finding.use.name, finding.cause.label))


def group_by_prompt(findings: Iterable[PromptFinding]) -> Mapping[PromptUse, Sequence[PromptFinding]]:
    """Return the findings by the prompt that they are about, in their order."""
    groups: dict[PromptUse, list[PromptFinding]] = {}
    for finding in findings:
        groups.setdefault(finding.use, []).append(finding)
    return groups


def _order_cause(cause: DecisionCause) -> str:
    return cause.label


def _build_finding(use: PromptUse, cause: DecisionCause, own: Sequence[JudgedDecision]) -> PromptFinding:
    bad = [decision for decision in own if cause in decision.causes]
    bad_tasks, all_tasks = _collect_tasks(bad), _collect_tasks(own)
    return PromptFinding(
        use=use,
        cause=cause,
        tasks=len(bad_tasks),
        all_tasks=len(all_tasks),
        runs=len({run for run, _ in bad_tasks}),
        all_runs=len({run for run, _ in all_tasks}),
        low=bound_rate(len(bad_tasks), len(all_tasks)).low,
        lost=Usage.sum_of(decision.spent for decision in bad),
        decisions=tuple(sorted(bad, key=_order_decision, reverse=True)),
    )


def _order_decision(decision: JudgedDecision) -> tuple[str, int]:
    return decision.run, min((fault.seq for fault in decision.faults), default=0)


def _collect_tasks(decisions: Iterable[JudgedDecision]) -> set[_TaskKey]:
    return {(decision.run, decision.task) for decision in decisions}


def _is_beyond_bounds(finding: PromptFinding) -> bool:
    least = LEAST_RATE
    if finding.cause.kind in _COMMON_KINDS or finding.cause.name in _COMMON_RULES:
        least = LEAST_RATE_OF_COMMON
    return finding.tasks >= LEAST_TASKS and finding.runs >= LEAST_RUNS and finding.low > least
