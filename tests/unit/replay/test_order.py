"""The recorded order: turns come when everything before them has happened, and waiting in vain is noticed."""

from collections.abc import Callable

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import find_sole_error
from orchestrator.replay.sequence.milestone_order import MilestoneOrder, ReplayStopped


async def settle() -> None:
    for _ in range(5):
        await anyio.lowlevel.checkpoint()


async def test_a_turn_comes_when_everything_before_it_has_happened() -> None:
    order, seen = MilestoneOrder(["a", "b", "c"]), list[str]()

    async def do(name: str) -> None:
        await order.wait_for_turn(name)
        seen.append(name)

    async with anyio.create_task_group() as tasks:
        for name in ("c", "b"):
            tasks.start_soon(do, name)
        await settle()
        assert seen == []
        order.record_milestone("b")
        await settle()
        assert seen == []
        order.record_milestone("a")
        await settle()
        assert sorted(seen) == ["b", "c"]
    assert order.next_milestone == "c"


async def test_what_comes_next_has_its_turn_at_once() -> None:
    order = MilestoneOrder(["a", "b"])
    await order.wait_for_turn("a")
    order.record_milestone("a")
    assert order.next_milestone == "b"
    await order.wait_for_turn("b")
    await order.wait_for_turn("a")
    assert order.next_milestone == "b", "a turn is no milestone: only what happened counts"


async def test_when_all_who_work_wait_they_are_told_what_is_missing() -> None:
    order = MilestoneOrder(["a", "b", "c"])
    stopped = await stopping(order, ["b", "c"])
    assert (stopped.missing, stopped.out_of_order) == ("a", ("b", "c"))
    assert str(stopped) == "the recording goes on with a; the replay with b, c"


async def test_what_was_never_recorded_waits_until_nothing_else_can_happen() -> None:
    order = MilestoneOrder(["a"])
    stopped = await stopping(order, ["x"], before=lambda: order.record_milestone("a"))
    assert (stopped.missing, stopped.out_of_order) == (None, ("x",))
    assert str(stopped) == "the recording ends here; the replay with x"


async def stopping(order: MilestoneOrder, names: list[str], before: Callable[[], None] = lambda: None) -> ReplayStopped:
    """What those are told who wait for these turns, once all who work are known to."""

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(order.wait_for_turn, name)
            await settle()
            before()
            order.set_busy_count(len(names) + 1)  # one of them is still at work: nobody is told anything
            await settle()
            assert not tasks.cancel_scope.cancel_called
            order.set_busy_count(len(names))

    with pytest.raises(BaseExceptionGroup) as group:
        await run()
    error = find_sole_error(group.value)
    assert isinstance(error, ReplayStopped)
    return error


def test_what_has_been_overtaken_is_not_waited_for() -> None:
    order = MilestoneOrder(["round", "end", "next"], {"round": frozenset({"end"})})
    order.record_milestone("end")
    assert (order.has_happened("round"), order.next_milestone) == (True, "next")


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_the_next_milestone_is_the_first_that_has_not_happened(happening: list[str]) -> None:
    names = ["a", "b", "c", "d", "e"]
    order, done = MilestoneOrder(names), set[str]()
    for name in happening:
        order.record_milestone(name)
        done.add(name)
        assert order.next_milestone == next((one for one in names if one not in done), None)
