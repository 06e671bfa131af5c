"""The source of a dashboard's view models: a `RunFeed`, or a test's stand-in."""

from typing import Protocol

from orchestrator.tui.run_feed.playback_clock import PlaybackClock
from orchestrator.tui.view_model import ViewModel


class ViewModelSource(Protocol):
    """Moments of one run. All of it is called in the dashboard's own thread."""

    @property
    def replay(self) -> PlaybackClock | None:
        """The clock by which a recording is played; None where the run is seen as it happens."""

    @property
    def problem(self) -> str:
        """The reason why the dashboard cannot know more, and how to mend it; empty if there is none."""

    def start(self) -> None:
        """Start to read."""

    async def fold_until_closed(self) -> None:
        """Fold what is read, a little at a time, until the source is closed."""

    def get_view_model(self) -> ViewModel | None:
        """Return the run as far as it is known by now; None before anything is."""

    def close(self) -> None:
        """Stop reading."""
