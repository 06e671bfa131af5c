"""The part of a run's state that counts what it costs."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import TaskId


@dataclass(slots=True)
class SpendState:
    """The usage that a run has booked, in total and divided.

    Models are named as they were asked for. `…_by_node` hold what a task and all its descendants spent; `at_risk` is
    what calls may have cost whose end nobody knows.
    """

    total: Usage = field(default_factory=Usage)
    by_role: dict[str, Usage] = field(default_factory=dict)
    by_model: dict[str, Usage] = field(default_factory=dict)
    by_task: dict[TaskId, Usage] = field(default_factory=dict)
    by_node: dict[TaskId, Usage] = field(default_factory=dict)
    at_risk: Usage = field(default_factory=Usage)
    at_risk_by_role: dict[str, Usage] = field(default_factory=dict)
    at_risk_by_model: dict[str, Usage] = field(default_factory=dict)
    at_risk_by_node: dict[TaskId, Usage] = field(default_factory=dict)
    call_s_by_role: dict[str, float] = field(default_factory=dict)
    call_s_by_model: dict[str, float] = field(default_factory=dict)
    possibly_billed_calls: int = 0
    answer_counts: Counter[str] = field(default_factory=Counter)
    """Replies and failures by `ROLE TASK MODEL`, with the model as asked."""
    provider_pauses: dict[str, datetime] = field(default_factory=dict)
    """Until when providers asked not to be called, by quota pool."""
