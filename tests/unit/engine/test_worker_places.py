"""Places of workers: never more are held than there are, whoever is cancelled, and who asks first comes first."""

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.engine.goal.worker_places import WorkerPlaces, count_prepared_attempts


@given(
    count=st.integers(1, 4),
    work=st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12),
    later=st.integers(1, 4),
)
@settings(deadline=None, max_examples=60)
def test_no_more_places_are_held_than_there_are_and_all_come_back(
    count: int, work: list[tuple[int, bool]], later: int
) -> None:
    held: list[int] = []
    most: list[int] = []

    async def hold(places: WorkerPlaces, steps: int, is_cancelled: bool) -> None:
        with anyio.CancelScope() as scope:
            if is_cancelled:
                scope.cancel()
            async with places.hold_place():
                held.append(1)
                most.append(len(held))
                try:
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                finally:
                    held.pop()

    async def run() -> None:
        places = WorkerPlaces()
        places.set_count(count)
        async with anyio.create_task_group() as tasks:
            for steps, is_cancelled in work:
                tasks.start_soon(hold, places, steps, is_cancelled)
            await anyio.lowlevel.checkpoint()
            places.set_count(later)
        with anyio.fail_after(1):
            async with places.hold_place():
                pass

    anyio.run(run)
    assert not held
    assert max(most, default=0) <= max(count, later)


async def test_who_asks_first_comes_first() -> None:
    places, order = WorkerPlaces(), []
    places.set_count(1)

    async def hold(name: str) -> None:
        async with places.hold_place():
            order.append(name)
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for name in "abcde":
            tasks.start_soon(hold, name)
    assert order == list("abcde")


@pytest.mark.parametrize(("workers", "prepared"), [(1, 0), (7, 0), (8, 1), (32, 4), (256, 32)])
def test_workspaces_are_made_ready_ahead_only_for_many_workers(workers: int, prepared: int) -> None:
    assert count_prepared_attempts(workers) == prepared
