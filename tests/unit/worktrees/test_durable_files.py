"""Durable files: whole or not at all, whatever fails, and nothing is left lying about when it does."""

import ast
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import worktrees
from orchestrator.domain.commands.definitions import InboxCommand, Pause
from orchestrator.journal.inbox import Inbox
from orchestrator.redact.redactor import Redactor, scrub_log
from worktrees.durable_files import append_durably, move_durably, replace_durably, write_durably

TOP = Path(worktrees.__file__).parents[1]

WRITERS = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from orchestrator.domain.commands.definitions import InboxCommand, Pause
from orchestrator.errors import OrchestrateError
from orchestrator.journal.inbox import Inbox
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.redact.redactor import scrub_log
from orchestrator.redact.redactor import Redactor

place, text = Path(sys.argv[2]), "word " * 100_000
command = InboxCommand(key="c", at=datetime.now(UTC), by="me", command=Pause(reason=text))
WRITERS = {
    "inbox": lambda: Inbox(place / "inbox").send_command(command),
    "blob": lambda: BlobStore(place / "blobs").write_blob(text.encode()),
    "log": lambda: scrub_log(place / "log", Redactor({"MY_TOKEN": "s3cret-value"})),
}
write = WRITERS[sys.argv[1]]
"""
FULL = """
(place / "ballast").write_bytes(bytes(2_700_000))
(place / "log").write_text("s3cret-value" + text)
while (place / "ballast").exists():
    try:
        with (place / "more").open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    except OSError:
        pass
    try:
        write()
    except (OrchestrateError, OSError) as error:
        print("No space left" in str(error))
    (place / "more").unlink()
    (place / "ballast").unlink()
print([file.name for file in place.rglob(".*")])
write()
print(sorted(file.suffix for file in place.rglob("*") if file.is_file() and file.name != "log"))
"""
KILLED = """
(place / "log").write_text("s3cret-value" + text)
sys.addaudithook(lambda name, _: os.kill(os.getpid(), 9) if name == "os.rename" else None)
write()
"""


@pytest.mark.sandbox
@pytest.mark.parametrize(("what", "written"), [("inbox", [".json"]), ("blob", [""]), ("log", [])])
def test_a_full_disk_is_told_leaves_no_draft_and_writing_works_when_there_is_room(
    tmp_path: Path, what: str, written: list[str]
) -> None:
    small = ["bwrap", "--dev-bind", "/", "/", "--size", "4000000", "--tmpfs", str(tmp_path)]
    words = [*small, sys.executable, "-c", WRITERS + FULL, what, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"True\n[]\n{written}\n", "")


@pytest.mark.parametrize("what", ["inbox", "blob", "log"])
def test_a_writer_that_is_killed_before_the_rename_leaves_what_was_there(tmp_path: Path, what: str) -> None:
    words = [sys.executable, "-c", WRITERS + KILLED, what, str(tmp_path)]
    assert subprocess.run(words, check=False).returncode == -9
    assert (tmp_path / "log").read_text().startswith("s3cret-value")
    assert list(Inbox(tmp_path / "inbox").iterate_commands()) == []
    left = [file.suffix for file in tmp_path.rglob("*") if file.is_file() and file.name != "log"]
    assert left == [".draft"]


def test_commands_are_there_for_the_owner_alone_and_in_order(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "inbox")
    for number in range(3):
        inbox.send_command(
            InboxCommand(key=f"c{number}", at=datetime(2026, 1, 1 + number, tzinfo=UTC), by="me", command=Pause())
        )
    found = list(inbox.iterate_commands())
    assert [command.key for _, command in found] == ["c0", "c1", "c2"]
    assert {path.stat().st_mode & 0o777 for path, _ in found} == {0o600}
    assert len(list((tmp_path / "inbox").iterdir())) == 3


def test_a_block_that_raises_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_durably(path, b"old")
    with pytest.raises(KeyError), replace_durably(path) as draft:
        draft.write(b"new")
        raise KeyError
    assert ([file.name for file in tmp_path.iterdir()], path.read_bytes()) == (["file"], b"old")


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"mine")
    (tmp_path / "file").symlink_to(tmp_path / "elsewhere")
    write_durably(tmp_path / "file", b"new")
    assert ((tmp_path / "elsewhere").read_bytes(), (tmp_path / "file").read_bytes()) == (b"mine", b"new")


def test_a_directory_in_the_way_is_an_error_that_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        write_durably(tmp_path / "file", b"new")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_files_move_and_grow(tmp_path: Path) -> None:
    append_durably(tmp_path / "a", b"one")
    append_durably(tmp_path / "a", b"two")
    (tmp_path / "below").mkdir()
    move_durably(tmp_path / "a", tmp_path / "below" / "b")
    assert (tmp_path / "below" / "b").read_bytes() == b"onetwo"
    assert not (tmp_path / "a").exists()


def test_a_scrubbed_log_leaves_no_draft(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("s3cret-value and more")
    assert scrub_log(tmp_path / "log", Redactor({"MY_TOKEN": "s3cret-value"}))
    assert [file.name for file in tmp_path.iterdir()] == ["log"]


def test_only_one_module_syncs_files() -> None:
    found = set()
    for package in ("orchestrator", "roles", "worktrees"):
        for file in (TOP / package).rglob("*.py"):
            nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if any(isinstance(node, ast.Attribute) and node.attr in {"fsync", "fdatasync"} for node in nodes):
                found.add(str(file.relative_to(TOP)))
    assert found == {"worktrees/durable_files.py"}
