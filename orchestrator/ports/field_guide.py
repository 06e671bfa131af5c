"""The field guide as a run sees it: a place that takes what the run stands for."""

from datetime import datetime
from typing import Protocol

from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.ids import RunId


class FieldGuide(Protocol):
    """What runs on a repository have learnt, for later ones."""

    @property
    def expire_days(self) -> int:
        """Days after which an entry that nobody used ends."""

    async def write_changes(self, run: RunId, changes: GuideChanged, now: datetime) -> None:
        """Bring all that a run stands for into the guide; twice is the same as once.

        Raises:
            EnvironmentProblem: it cannot be read or written.
            RunTakenOver: another process works on the run by now; nothing was written.
        """
