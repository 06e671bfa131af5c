"""A forge as a replay needs it: pull requests are opened in the scratch directory, checks say what they said then."""

from collections.abc import Sequence
from operator import attrgetter

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.forge import ChecksSeen, PrMerged
from orchestrator.domain.ids import CommitId
from orchestrator.ports.forge import Forge, ForgeCheck, OpenedPullRequest, PullRequest
from orchestrator.replay.sequence.milestone_order import ReplayStopped


class RecordedForge:
    """A `ports.Forge` that opens on another one, and knows of all else what was recorded."""

    moves_local_targets = False

    def __init__(self, forge: Forge, events: Sequence[RecordedEvent]) -> None:
        recorded_events = list(map(attrgetter("event"), events))
        self._forge = forge
        self._checks = {event.commit: event.checks for event in recorded_events if isinstance(event, ChecksSeen)}
        self._merged = {event.commit: event.new for event in recorded_events if isinstance(event, PrMerged)}

    @property
    def has_checks(self) -> bool:
        """False if the recording merged what no checks were seen of: it was the gate that told it."""
        return bool(self._checks) or not self._merged

    @property
    def name(self) -> str:
        """The name of the forge that opens."""
        return self._forge.name

    async def open_pull_request(self, request: PullRequest) -> OpenedPullRequest:
        """Open it there."""
        return await self._forge.open_pull_request(request)

    async def list_checks(self, ref: str, commit: CommitId) -> Sequence[ForgeCheck]:
        """Return what was seen last of this commit.

        Raises:
            ReplayStopped: the recording does not say how its checks ended.
        """
        seen = self._checks.get(commit)
        if seen is None or any(check.state == "pending" for check in seen):
            raise ReplayStopped(None, [f"the checks of {commit[:12]}"])
        return seen

    async def merge_pull_request(self, ref: str, commit: CommitId) -> CommitId:
        """Return nothing is merged; where the target was brought to then."""
        return self._merged.get(commit, commit)

    async def close_pull_request(self, ref: str, comment: str) -> None:
        """Do nothing: what is opened here is thrown away."""
