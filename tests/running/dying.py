"""`orchestrate` that kills itself: `python dying.py KIND:COUNT WORDS…` ends at the COUNT-th event of a kind.

SIGKILL comes when the event is about to be written: whatever it tells of has happened, and the journal does not know.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from orchestrator.cli.main import main
from orchestrator.domain.event import Recorded
from orchestrator.journal.store import Store


class DyingStore(Store):
    """A journal file whose writer dies before a certain event."""

    kind = ""
    left = 0

    def insert(self, batch: Sequence[Recorded], projections: Mapping[str, str] = MappingProxyType({})) -> None:
        """Write, or die."""
        DyingStore.left -= sum(recorded.event.kind == self.kind for recorded in batch)
        if DyingStore.left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        super().insert(batch, projections)


if __name__ == "__main__":
    DyingStore.kind, _, count = sys.argv[1].rpartition(":")
    DyingStore.left = int(count)
    Store.open_writer = DyingStore.open_writer  # type: ignore[method-assign]
    main(sys.argv[2:])
