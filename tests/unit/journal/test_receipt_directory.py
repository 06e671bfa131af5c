"""The receipts that runs leave for later ones: whatever is not whole, not named so or too old is no receipt."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.ids import RunId, TreeId
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.journal.receipt_directory import ReceiptDirectory
from orchestrator.ports.receipt_archive import ArchivedReceipt

NAME, OTHER = "a" * 64, "b" * 64
DAY_S = 24 * 3600.0


def archived(output: str = "ok") -> ArchivedReceipt:
    receipt = Receipt(
        key="check/gate.1/t",
        check="gate.1",
        command="test",
        tree=TreeId("t"),
        environment="e",
        status=ReceiptStatus.COMPLETED,
        exit_code=0,
        seconds=1.0,
    )
    return ArchivedReceipt(run=RunId("r"), receipt=receipt, tests='{"t": "passed"}', output=output)


def directory(place: Path, *, mebibytes: int = 8, at: float = 1e9) -> ReceiptDirectory:
    return ReceiptDirectory(place / "receipts", 7 * DAY_S, mebibytes * 1024 * 1024, lambda: at)


async def test_what_is_written_is_read_again_by_another_process(tmp_path: Path) -> None:
    await directory(tmp_path).write_receipt(NAME, archived())
    assert await directory(tmp_path).read_receipt(NAME) == archived()
    assert await directory(tmp_path).read_receipt(OTHER) is None
    await directory(tmp_path).remove_receipt(NAME)
    await directory(tmp_path).remove_receipt(NAME)
    assert await directory(tmp_path).read_receipt(NAME) is None


def _flip_last(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda old: old[:40], _flip_last, lambda old: b"\0" * len(old), lambda _: b"x" * 9_000_000],
)
async def test_a_damaged_file_is_no_receipt_and_can_be_written_anew(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    await directory(tmp_path).write_receipt(NAME, archived())
    (file,) = (tmp_path / "receipts").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert await directory(tmp_path).read_receipt(NAME) is None
    await directory(tmp_path).write_receipt(NAME, archived("new"))
    assert await directory(tmp_path).read_receipt(NAME) == archived("new")


async def test_a_file_under_another_name_is_no_receipt(tmp_path: Path) -> None:
    await directory(tmp_path).write_receipt(NAME, archived())
    (file,) = (tmp_path / "receipts").iterdir()
    file.rename(file.with_name(file.name.replace("a", "b", 64)))
    assert await directory(tmp_path).read_receipt(OTHER) is None


@pytest.mark.parametrize(("days", "is_read"), [(6.9, True), (7.1, False), (-1, False)])
async def test_age_counts_from_when_it_was_written_whatever_the_file_says(
    tmp_path: Path, days: float, is_read: bool
) -> None:
    await directory(tmp_path).write_receipt(NAME, archived())
    later = directory(tmp_path, at=1e9 + days * DAY_S)
    assert (await later.read_receipt(NAME) is not None) == is_read


async def test_the_oldest_go_where_all_together_take_too_much(tmp_path: Path) -> None:
    kept = directory(tmp_path, mebibytes=1)
    for number in range(6):
        name = f"{number:064x}"
        await kept.write_receipt(name, archived(os.urandom(150_000).hex()))
        for file in (tmp_path / "receipts").glob(f"{name}*"):
            os.utime(file, (number, number))
    found = [number for number in range(6) if await kept.read_receipt(f"{number:064x}")]
    assert found
    assert found[-1] == 5
    assert found == list(range(found[0], 6))
    assert sum(file.stat().st_size for file in (tmp_path / "receipts").iterdir()) <= 1024 * 1024


async def test_what_others_wrote_counts_before_long(tmp_path: Path) -> None:
    kept = directory(tmp_path, mebibytes=1)
    await kept.write_receipt(NAME, archived())
    other = tmp_path / "receipts" / f"{OTHER}.receipt"
    other.write_bytes(bytes(1024 * 1024))
    os.utime(other, (1, 1))
    for number in range(64):
        await kept.write_receipt(f"{number:064x}", archived())
    assert not other.exists()
    assert await kept.read_receipt(NAME) == archived()


async def test_files_past_their_age_and_drafts_of_dead_processes_are_listed_for_gc(tmp_path: Path) -> None:
    await directory(tmp_path).write_receipt(NAME, archived())
    (file,) = (tmp_path / "receipts").iterdir()
    draft = file.with_name(".00.draft")
    draft.write_bytes(b"half")
    os.utime(file, (1e9, 1e9))
    os.utime(draft, (1e9, 1e9))
    assert directory(tmp_path, at=1e9 + 60).list_old_files() == ()
    assert directory(tmp_path, at=1e9 + DAY_S).list_old_files() == (draft,)
    assert set(directory(tmp_path, at=1e9 + 8 * DAY_S).list_old_files()) == {draft, file}
    assert directory(tmp_path / "nowhere").list_old_files() == ()


async def test_many_may_write_the_same_at_a_time(tmp_path: Path) -> None:
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(directory(tmp_path).write_receipt, NAME, archived())
    assert await directory(tmp_path).read_receipt(NAME) == archived()
    assert len(list((tmp_path / "receipts").iterdir())) == 1


async def test_where_nothing_can_be_written_nothing_is_kept_and_nobody_fails(tmp_path: Path) -> None:
    (tmp_path / "receipts").write_text("a file in the way")
    await directory(tmp_path).write_receipt(NAME, archived())
    assert await directory(tmp_path).read_receipt(NAME) is None
