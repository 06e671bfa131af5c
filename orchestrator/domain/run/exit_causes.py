"""The cause that follows from the end of an agent's session."""

from collections.abc import Mapping

from orchestrator.domain.run.attempt import Exit
from orchestrator.domain.run.task import EndCause

CAUSE_BY_EXIT: Mapping[Exit, EndCause] = {
    Exit.OUT_OF_TURNS: EndCause.UNFINISHED,
    Exit.OUT_OF_CONTEXT: EndCause.UNFINISHED,
    Exit.OUT_OF_BUDGET: EndCause.BUDGET_SPENT,
    Exit.STUCK: EndCause.UNFINISHED,
    Exit.MALFORMED: EndCause.MODEL_UNREADABLE,
    Exit.REFUSED: EndCause.MODEL_REFUSED,
    Exit.VETOED: EndCause.REFUSED_BY_HOOK,
    Exit.UNKEEPABLE: EndCause.UNFINISHED,
}
"""For every exit of a session that gave no result."""
