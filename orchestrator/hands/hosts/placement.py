"""Chooses where a workspace is opened: where there is most room, and rather where the commit is already."""

from collections.abc import Iterable
from typing import NamedTuple


class Place(NamedTuple):
    """A machine as it stands: `workspaces` are open on it, `slots` commands run at once there.

    One that `takes_work` is neither cordoned nor leaving.
    """

    host: str
    slots: int
    workspaces: int
    has_commit: bool
    takes_work: bool = True


def choose_place(places: Iterable[Place]) -> Place | None:
    """Return the place for the next workspace; None if no machine takes one.

    That is the one with the fewest workspaces for each of its slots. Of equal ones, one that has the commit goes first.
    """
    return min((place for place in places if place.takes_work), key=_rank_place, default=None)


def _rank_place(place: Place) -> tuple[float, bool, str]:
    return (place.workspaces + 1) / place.slots, not place.has_commit, place.host
