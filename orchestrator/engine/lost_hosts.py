"""Patience with work that loses its host: it is due again at once, but not for ever."""

from dataclasses import dataclass

from orchestrator.errors import EnvironmentProblem, HostLost

MOST_LOSSES = 10
"""So many hosts may one piece of work lose in a row, each soon after it was begun."""
_SOON_S = 60.0


@dataclass
class LossCounter:
    """Counts the hosts that one piece of work lost in a row; `count` begins anew after a try that lasted a minute."""

    count: int = 0

    def note_loss(self, lost: HostLost, seconds: float) -> None:
        """Note that a try ended after so many seconds as its host was lost.

        Raises:
            EnvironmentProblem: that happened too often in a row; what the work does may be what ends the hosts.
        """
        self.count = self.count + 1 if seconds < _SOON_S else 1
        if self.count > MOST_LOSSES:
            raise EnvironmentProblem(
                f"the same work lost {self.count} hosts in a row, the last one: {lost}. Its commands may be what ends "
                "them (memory, disk): look at the hosts with `orchestrate hosts status`, then resume the run"
            ) from lost
