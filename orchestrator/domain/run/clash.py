"""The two sides of a change that could not land as it was: what the next attempt at it has to bring together."""

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TaskId


class Clash(FrozenModel):
    """The sides that an attempt brings together: the candidate that did not land, and what landed meanwhile.

    `base` is what both began from, `candidate` the task's own work. `conflict` are the files that begin with conflict
    markers or with one side alone, empty where the two merge and are red together. `landed` are the tasks that changed
    what clashes. `number` counts the clashes of the task in a row, from 1.
    """

    base: CommitId
    candidate: CommitId
    conflict: tuple[str, ...] = ()
    landed: tuple[TaskId, ...] = ()
    number: int = 1
