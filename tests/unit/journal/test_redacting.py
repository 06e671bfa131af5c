"""The journal writer takes secrets out of words, and leaves the names alone that the program goes by."""

import typing
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.event import EVENT_CLASSES
from orchestrator.domain.event.run import Noticed, RunPaused
from orchestrator.domain.event.work import ModelFailed, ModelReplied, TaskCreated
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import Task
from orchestrator.journal.event_redaction import UNREDACTED_FIELDS, VERBATIM_FIELDS, redact_event
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.redact.redactor import Redactor

SECRET = 'k"7\\x-Vb7x\u00e9Wp-Tq93'
MARK = "[redacted:MY_TOKEN]"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4
REDACTOR = Redactor({"MY_TOKEN": SECRET})


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path, SystemClock(), REDACTOR)
    yield opened
    opened.close()


def everything(directory: Path) -> str:
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in directory.rglob("*") if path.is_file())


async def test_no_word_of_an_event_brings_a_secret_to_the_disk_or_into_the_state(
    tmp_path: Path, journal: Journal
) -> None:
    task = Task(id=TaskId("a"), parent=None, depth=1, kind="leaf", title=f"use {SECRET}", outcome=f"{TOKEN} works")
    failed = ModelFailed(
        key="model/s/0~0", session=SessionId("s"), turn=0, role="worker", model="m", error="lost",
        detail=f"Incorrect API key provided: {SECRET}", retry_in_s=None,
    )  # fmt: skip
    heard: list[object] = []
    journal.listeners.append(lambda recorded: heard.append(recorded.event))
    await journal.append(TaskCreated(task=TaskId("a"), spec=task), failed, RunPaused(reason=SECRET * 2, exit=7))
    assert journal.state.tasks[TaskId("a")].spec.title == f"use {MARK}"
    assert journal.state.tasks[TaskId("a")].spec.outcome == "[redacted:github-token] works"
    for told in (everything(tmp_path), repr(heard), repr(journal.state)):
        assert "Vb7x" not in told
        assert TOKEN not in told
    assert MARK in repr(heard)


async def test_long_texts_and_blobs_are_kept_without_secrets(tmp_path: Path, journal: Journal) -> None:
    text = await journal.store_text(f"{'x' * 5_000} {SECRET} {TOKEN}")
    blob = await journal.store_bytes(b"\xff\x00" + SECRET.encode() + TOKEN.encode())
    assert (await journal.read_text(text)).endswith(f" {MARK} [redacted:github-token]")
    assert await journal.read_bytes(blob) == b"\xff\x00" + MARK.encode() + TOKEN.encode()
    assert "Vb7x" not in everything(tmp_path)


async def test_what_is_read_again_is_what_was_folded(tmp_path: Path, journal: Journal) -> None:
    await journal.append(Noticed(level="info", text=f"{SECRET} {TOKEN} \ud800"))
    again = Journal(tmp_path, SystemClock(), REDACTOR)
    assert again.state == journal.state
    again.close()


def test_a_token_that_a_model_made_up_stays_in_its_words_and_arguments_and_a_known_secret_does_not() -> None:
    said = ModelReplied(
        key="k~0", session=SessionId("s"), turn=0, role="worker", model="m", finish_reason="stop", usage=Usage(),
        seconds=0, text={"head": f"{TOKEN} {SECRET}"}, tool_calls=(ToolCall(id="c", name="write", arguments=TOKEN),),
    )  # fmt: skip
    kept = redact_event(said, REDACTOR)
    assert isinstance(kept, ModelReplied)
    assert (kept.text.head, kept.tool_calls) == (f"{TOKEN} {MARK}", said.tool_calls)


def test_an_event_without_a_secret_is_the_same_one() -> None:
    event = Noticed(level="info", text="da39a3ee5e6b4b0d3255bfef95601890afd80709")
    assert redact_event(event, REDACTOR) is event


def test_every_name_in_an_event_is_known_for_a_name_or_for_words() -> None:
    """Whoever adds a field of an event decides here whether it is a name or words."""
    fields = {name for cls in EVENT_CLASSES.values() for name in _strings(cls)}
    assert fields >= UNREDACTED_FIELDS - {"kind", "v", "error", "mode"}, "no longer a field of anything"
    assert fields - UNREDACTED_FIELDS - VERBATIM_FIELDS == {
        *("acceptance", "approval", "believed", "by", "claim", "concerns", "decisions", "detail", "deviations", "done"),
        *(
            "dropped",
            "evidence",
            "feedback",
            "flagged",
            "flags",
            "goal",
            "head",
            "held",
            "line_text",
            "non_goals",
            "note",
            "nudge",
            "outcome",
            "problem",
        ),
        *("problems", "rationale", "reason", "reasons", "refused", "remaining", "summary", "text", "title", "url"),
        *("why", "accepted", "entry", "scope", "used", "address"),
    }


def _strings(cls: type[BaseModel], seen: frozenset[type] = frozenset()) -> Iterator[str]:
    for name, field in cls.model_fields.items():
        yield from _of(field.annotation, name, seen | {cls})


def _of(kind: Any, name: str, seen: frozenset[type]) -> Iterator[str]:
    if typing.get_origin(kind) is typing.Literal or kind in seen:
        return
    if kind is str or kind is Any or getattr(kind, "__supertype__", None) is str:
        yield name
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from _strings(kind, seen)
    for inner in typing.get_args(kind):
        yield from _of(inner, name, seen)


def test_times_and_numbers_survive() -> None:
    failed = ModelFailed(
        key="k~0", session=SessionId("s"), turn=3, role="judge", model="m", error="rate", detail=SECRET,
        retry_in_s=1.5, opens_at=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip
    assert redact_event(failed, REDACTOR) == failed.model_copy(update={"detail": MARK})
