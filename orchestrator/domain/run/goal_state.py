"""The part of a run's state that only goals have: the contract and how it was judged."""

from dataclasses import dataclass

from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.contract import Contract, IterationVerdict


@dataclass(slots=True)
class GoalState:
    """The contract of a goal, and the iterations that were judged by it."""

    contract: Contract | None = None
    iteration: int = 0
    iteration_reasons: tuple[str, ...] = ()
    iterations: tuple[IterationVerdict, ...] = ()
    hidden_tasks: frozenset[TaskId] = frozenset()
    rejudge_count: int = 0
    """The number of times a person had a task tried again: judgements of the whole from before are void."""
