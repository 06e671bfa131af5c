"""The lock between processes."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from tests.unit.worktrees.conftest import python
from worktrees.locks.file_lock import hold_file_lock, try_file_lock

COUNTING = """
import anyio, pathlib, sys
from worktrees.locks.file_lock import hold_file_lock
async def main():
    place = pathlib.Path(sys.argv[1])
    async def one():
        async with hold_file_lock(place / "lock"):
            value = int((place / "count").read_text())
            await anyio.sleep(0.001)
            (place / "count").write_text(str(value + 1))
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(one)
anyio.run(main)
"""
HOLDING = """
import pathlib, sys, time
from worktrees.locks.file_lock import try_file_lock
assert try_file_lock(pathlib.Path(sys.argv[1]) / "lock") is not None
print("held", flush=True)
time.sleep(60)
"""


def test_tasks_and_processes_take_turns(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")

    processes = [python(COUNTING, str(tmp_path)) for _ in range(2)]

    assert [process.communicate()[0] for process in processes] == [""] * 2
    assert (tmp_path / "count").read_text() == "40"


async def test_waiting_can_be_cancelled_and_leaves_the_lock_to_others(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    async with hold_file_lock(lock):
        with anyio.move_on_after(0.05) as waiting:
            async with hold_file_lock(lock):
                pytest.fail("two holders at once")
        assert waiting.cancelled_caught

    with anyio.fail_after(60):
        async with hold_file_lock(lock):
            assert try_file_lock(lock) is None


async def test_an_error_in_the_block_frees_the_lock(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in the block"):
        async with hold_file_lock(tmp_path / "lock"):
            raise ValueError("in the block")

    descriptor = try_file_lock(tmp_path / "lock")
    assert descriptor is not None
    os.close(descriptor)


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    holder = python(HOLDING, str(tmp_path))
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    assert try_file_lock(tmp_path / "lock") is None

    holder.send_signal(signal.SIGKILL)
    holder.communicate()

    descriptor = try_file_lock(tmp_path / "lock")
    assert descriptor is not None
    os.close(descriptor)


def test_a_lock_on_a_file_that_its_holder_has_removed_is_not_taken_for_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    first = try_file_lock(lock)
    assert first is not None
    lock.unlink()
    second = try_file_lock(lock)
    assert second is not None
    try:
        assert os.fstat(second).st_ino != os.fstat(first).st_ino
    finally:
        os.close(first)
        os.close(second)
