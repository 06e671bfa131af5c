"""Who runs next when more commands want to than may."""

import anyio
from anyio.lowlevel import checkpoint

from orchestrator.hands.execution.command_slots import CommandSlots


async def test_checks_go_before_agents_commands_and_each_in_the_order_in_which_it_came() -> None:
    slots, ran = CommandSlots(1), list[str]()

    async def run(name: str, is_agent: bool) -> None:
        async with slots.hold_slot(is_agent=is_agent):
            ran.append(name)
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        for name, is_agent in (("a1", True), ("a2", True), ("gate1", False), ("a3", True), ("gate2", False)):
            tasks.start_soon(run, name, is_agent)
    assert ran == ["a1", "gate1", "gate2", "a2", "a3"]


async def test_a_command_that_is_given_up_while_it_waits_or_runs_takes_no_slot_with_it() -> None:
    slots, ran = CommandSlots(2), list[int]()

    async def run(number: int, seconds: float) -> None:
        async with slots.hold_slot(is_agent=number % 2 == 0):
            ran.append(number)
            await anyio.sleep(seconds)

    with anyio.move_on_after(0.05):
        async with anyio.create_task_group() as tasks:
            for number in range(6):
                tasks.start_soon(run, number, 9)
    assert ran == [0, 1]
    async with anyio.create_task_group() as tasks:
        for number in range(10, 16):
            tasks.start_soon(run, number, 0)
    assert sorted(ran[2:]) == list(range(10, 16))
