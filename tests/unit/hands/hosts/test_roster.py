"""Hosts that join a run: refused, cordoned, drained, and what is placed where."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event import Event
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.hosts.placement import Place, choose_place
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadHands, SpreadRules, open_spread_hands
from orchestrator.hands.policy import SandboxGrant
from tests.doubles.host_links import InProcessLink, run_agent

sandbox = pytest.mark.sandbox


@dataclass(frozen=True)
class Joined:
    """Hands over hosts within this process, and what the run would record of them."""

    hands: SpreadHands
    roster: HostRoster
    events: list[Event]
    links: Sequence[InProcessLink]

    def left(self) -> list[tuple[str, str]]:
        """The hosts that left, each with the cause."""
        return [(one.name, one.cause) for one in self.events if isinstance(one, HostLeft)]


@asynccontextmanager
async def join(yard: Any, place: Path, *names: str, version: str = "test", here: bool = False) -> AsyncIterator[Joined]:
    """Open hands over these hosts."""
    events: list[Event] = []

    async def record(event: Event) -> None:
        events.append(event)

    async with AsyncExitStack() as stack:
        local = await stack.enter_async_context(yard.hands(slots=2))
        roster = HostRoster("test", record)
        base, rules = CommitId(yard.git("rev-parse", "HEAD")), SpreadRules(lambda _: True, uses_this_machine=here)
        hands = await open_spread_hands(local, roster, SandboxGrant(), base, yard.state, rules)
        links = []
        for name in names:
            agent = await stack.enter_async_context(run_agent(place / name, name, version=version))
            links.append(InProcessLink(agent))
            await roster.admit_host(links[-1])
        yield Joined(hands, roster, events, links)


@sandbox
async def test_a_host_of_another_version_is_refused_in_words_on_both_sides(yard: Any, tmp_path: Path) -> None:
    async with join(yard, tmp_path, "old", version="0.0.9") as joined:
        assert joined.left() == [("old", "refused")]
        [event] = joined.events
        assert isinstance(event, HostLeft)
        assert "version 0.0.9" in event.reason
        assert "install the same version on both" in event.reason
        [link] = joined.links
        dismissal = link.agent.dismissal
        assert dismissal is not None
        assert dismissal.is_refusal
        assert dismissal.reason == event.reason
        assert link.is_dropped


@sandbox
async def test_a_cordoned_host_gets_nothing_new_and_a_drained_one_leaves_when_it_is_idle(
    yard: Any, tmp_path: Path
) -> None:
    head = CommitId(yard.git("rev-parse", "HEAD"))
    async with join(yard, tmp_path, "one", "two") as joined:
        assert [event.name for event in joined.events if isinstance(event, HostJoined)] == ["one", "two"]
        first = await joined.hands.open_workspace(head, Purpose("test"))
        await joined.roster.mark_host("two", "cordoned")
        others = [await joined.hands.open_workspace(head, Purpose("test")) for _ in range(3)]
        assert {one.host for one in (first, *others)} == {"one"}
        await joined.roster.mark_host("two", "ready")
        assert (await joined.hands.open_workspace(head, Purpose("test"))).host == "two"
        await joined.roster.mark_host("one", "draining")
        for workspace in others:
            await workspace.close()
        assert joined.left() == []
        await first.close()
        assert joined.left() == [("one", "drained")]
        dismissal = joined.links[0].agent.dismissal
        assert dismissal is not None
        assert not dismissal.is_refusal


@sandbox
async def test_where_no_host_takes_work_it_waits_says_so_once_and_goes_on(yard: Any, tmp_path: Path) -> None:
    head, opened = CommitId(yard.git("rev-parse", "HEAD")), list[str]()
    async with join(yard, tmp_path, "one") as joined:
        await joined.roster.mark_host("one", "cordoned")

        async def open_one() -> None:
            opened.append((await joined.hands.open_workspace(head, Purpose("test"))).host)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(open_one)
            tasks.start_soon(open_one)
            await anyio.wait_all_tasks_blocked()
            assert opened == []
            await joined.roster.mark_host("one", "ready")
        assert opened == ["one", "one"]
        told = [event.text for event in joined.events if isinstance(event, Noticed)]
        assert len(told) == 1
        assert "no host takes work" in told[0]


@sandbox
async def test_a_host_that_is_lost_while_it_is_admitted_is_left_at_the_first_workspace(
    yard: Any, tmp_path: Path
) -> None:
    head = CommitId(yard.git("rev-parse", "HEAD"))
    async with join(yard, tmp_path, "one", here=True) as joined:
        joined.links[0].lose_host()  # and nobody says so
        assert (await joined.hands.open_workspace(head, Purpose("test"))).host == ""
        while "one" in joined.roster.hosts:
            assert (await joined.hands.open_workspace(head, Purpose("test"))).host == ""
        assert joined.left() == [("one", "lost")]


PLACES = st.builds(
    Place,
    host=st.sampled_from(["", "a", "b", "c"]),
    slots=st.integers(1, 8),
    workspaces=st.integers(0, 20),
    has_commit=st.booleans(),
    takes_work=st.booleans(),
)


@given(st.lists(PLACES, max_size=6))
def test_a_place_takes_work_and_no_other_has_more_room_or_as_much_and_the_commit(places: list[Place]) -> None:
    chosen = choose_place(places)
    usable = [place for place in places if place.takes_work]
    if chosen is None:
        assert not usable
        return
    assert chosen.takes_work
    load = (chosen.workspaces + 1) / chosen.slots
    for place in usable:
        other = (place.workspaces + 1) / place.slots
        assert load <= other
        assert chosen.has_commit or load < other or not place.has_commit
