"""A host of a run: what is known of it, and the changes that its journal tells of."""

from datetime import datetime
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel, copy_with_changes

HOST_NAME_PATTERN = r"[a-z0-9][a-z0-9-]{0,40}"
"""The pattern of a host's name."""
THIS_MACHINE = ""
"""The name, in events, of the machine that the engine itself runs on."""
HostMark = Literal["cordoned", "draining", "ready"]
"""A person's word on a host: nothing new begins there, it leaves when its last workspace is closed, or neither."""
HostLeaveCause = Literal["lost", "drained", "closed", "refused"]
"""The cause of a host's leaving: no sign of life, a drain that is done, the end of the engine, or it was not let in."""
HostStatus = Literal["ready", "cordoned", "draining", "drained", "lost", "closed", "refused"]
PRESENT_STATUSES: frozenset[HostStatus] = frozenset({"ready", "cordoned", "draining"})
"""The statuses of hosts that are joined now."""


def format_host_name(name: str) -> str:
    """Return the name of a host for people."""
    return name if name != THIS_MACHINE else "this machine"


class HostRecord(FrozenModel):
    """A host, as it was told of last.

    `slots` is how many commands it runs at once. `reason` says why it left. `losses` counts how often it was lost.
    A host that `is_kept_off` gets no new workspace, also when it was lost and joins again: a person wants that.
    """

    name: str
    slots: int = 0
    status: HostStatus = "closed"
    address: str = ""
    version: str = ""
    joined_at: datetime | None = None
    left_at: datetime | None = None
    reason: str = ""
    losses: int = 0
    is_kept_off: bool = False

    @property
    def is_present(self) -> bool:
        """True if it is joined now."""
        return self.status in PRESENT_STATUSES

    @property
    def status_since(self) -> datetime | None:
        """The time at which it joined last; of a host that has left, when it did."""
        return self.joined_at if self.is_present else self.left_at or self.joined_at

    def record_join(self, slots: int, address: str, version: str, at: datetime) -> "HostRecord":
        """Return it as joined; one that a person keeps off stays so."""
        return copy_with_changes(
            self,
            slots=slots,
            status="cordoned" if self.is_kept_off else "ready",
            address=address,
            version=version,
            joined_at=at,
            left_at=None,
            reason="",
        )

    def record_leave(self, cause: HostLeaveCause, reason: str, at: datetime) -> "HostRecord":
        """Return it as gone; a drain that is done is no reason to keep it off when it joins again."""
        return copy_with_changes(
            self,
            status=cause,
            left_at=at,
            reason=reason,
            losses=self.losses + (cause == "lost"),
            is_kept_off=self.is_kept_off and cause != "drained",
        )

    def record_mark(self, mark: HostMark) -> "HostRecord":
        """Return it with a person's word on it, which counts for a host that is gone when it joins again."""
        status = mark if self.is_present else self.status
        return copy_with_changes(self, status=status, is_kept_off=mark != "ready")
