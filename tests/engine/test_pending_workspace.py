"""A workspace that is made ready beside the first request to a model."""

import anyio

from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.purpose import Purpose
from orchestrator.engine.pending_workspace import PendingWorkspace
from tests.doubles.hands import LaidDownHands

COMMIT, PURPOSE = CommitId("c1"), Purpose.for_planning(TaskId("root"))


async def test_it_is_opened_once_a_model_is_called() -> None:
    hands, pending, model_called = LaidDownHands({}), PendingWorkspace(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pending.open_from, hands, COMMIT, PURPOSE, model_called)
        await anyio.wait_all_tasks_blocked()
        assert hands.purposes == []
        model_called.set()
    assert hands.purposes == [PURPOSE]


async def test_whoever_touches_it_before_a_model_is_called_has_it_opened() -> None:
    hands, pending = LaidDownHands({}), PendingWorkspace()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pending.open_from, hands, COMMIT, PURPOSE, anyio.Event())
            await pending.write_file("a.txt", b"a")
            assert await pending.read_file("a.txt") == b"a"
    assert hands.purposes == [PURPOSE]


async def test_one_that_is_given_up_is_not_opened() -> None:
    hands, pending, model_called = LaidDownHands({}), PendingWorkspace(), anyio.Event()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pending.open_from, hands, COMMIT, PURPOSE, model_called)
            await anyio.wait_all_tasks_blocked()
            pending.give_up()
            model_called.set()
    assert hands.purposes == []
