"""The part of a run's state that only goals have: the contract and how it was judged."""

from dataclasses import dataclass, field

from orchestrator.domain.commands.person_words import PersonWords
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.planning.plan_edits import PlanEdit
from orchestrator.domain.restart.left_line import LeftLine
from orchestrator.domain.run.contract import Contract, IterationVerdict
from orchestrator.domain.run.plan import Plan


@dataclass(slots=True)
class GoalState:
    """The contract of a goal, and the iterations that were judged by it."""

    contract: Contract | None = None
    iteration: int = 0
    given_plan: Plan | None = None
    """The plan that a person gave for the first round of the root."""
    plan_edits: tuple[PlanEdit, ...] = ()
    """What people made of plans before their tasks began, in order."""
    iteration_reasons: tuple[str, ...] = ()
    iterations: tuple[IterationVerdict, ...] = ()
    judged_head: CommitId | None = None
    """The commit that the latest verdict is about; old journals do not name it."""
    left_lines: tuple[LeftLine, ...] = ()
    """The lines that restarts left behind, in order."""
    hidden_tasks: frozenset[TaskId] = frozenset()
    words: dict[str, PersonWords] = field(default_factory=dict)
    """What people have said to tasks, by id, in order."""
    rejudge_count: int = 0
    """The number of times a person had a task tried again: judgements of the whole from before are void."""
