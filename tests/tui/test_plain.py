"""A run told in lines, with what is typed beside it: also where neither is what it should be."""

import time
from io import BytesIO, TextIOWrapper
from itertools import islice
from pathlib import Path

import pytest

from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.report.log.progress_lines import ProgressReporter
from orchestrator.tui.plain_follower import InputReader, RunFollower
from tests.running.journals import Fleet, fleet_journal, write
from tests.tui.hostile import ATTACK, dangers
from tests.tui.sources import Sent


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return fleet_journal(tmp_path / "run", workers=3, lines=0, turns=1)


def followed(directory: RunDirectory, typed: bytes, sent: Sent) -> list[str]:
    """What is said until nothing more is typed."""
    said: list[str] = []
    lines = InputReader(TextIOWrapper(BytesIO(typed), encoding="utf-8"))
    RunFollower(directory, said.append, ProgressReporter(time.monotonic()), sent.doors, lines).follow_run()
    return said


def test_typing_what_is_no_text_ends_nothing(directory: RunDirectory) -> None:
    sent = Sent()
    said = followed(directory, b"\xff\xfe\napprove q1\n", sent)
    assert any("no such command" in line for line in said)
    assert [command.do for command in sent.commands] == ["approve"]


def test_what_was_typed_is_told_back_without_what_a_terminal_would_act_on(directory: RunDirectory) -> None:
    typed = ATTACK.replace("\r", "").replace("\\", "").encode() + b" x\n"
    assert {char for line in followed(directory, typed, Sent()) for char in dangers(line)} == set()


@pytest.mark.damaged_journal
def test_an_event_that_cannot_have_happened_is_told_in_words(directory: RunDirectory) -> None:
    lost = Fleet(directory.path, 9, first_turn=0)

    def spoil(_line: str) -> None:
        if not done:
            done.append(True)
            write(directory.path, list(islice(lost.works(), 45))[30:])

    done: list[bool] = []
    typed = InputReader(TextIOWrapper(BytesIO(b""), encoding="utf-8"))
    with directory.hold_lock(), pytest.raises(JournalProblem, match="cannot have happened after those before it"):
        RunFollower(directory, spoil, ProgressReporter(time.monotonic()), Sent().doors, typed).follow_run()
