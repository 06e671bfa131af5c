r"""Text that cannot be encoded, and other odd values: from models, tools and command lines, stored and read again.

As JSON half a surrogate pair, `"\ud800"`, is plain ASCII. It becomes text that nobody can encode where it is read.
"""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from orchestrator.agent.tools.harness import build_recall_tool
from orchestrator.cli.main import cli
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reply, ToolCall
from orchestrator.domain.commands.definitions import InboxCommand, Retry
from orchestrator.domain.event import Event
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import (
    ModelCalled,
    ModelReplied,
    SessionStarted,
    TaskEnded,
    ToolCalled,
    ToolReturned,
)
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.text.blob_text import Text
from orchestrator.domain.text.encoding import decode_json
from orchestrator.errors import JournalProblem, SearchUnavailable
from orchestrator.journal.damage.repair import repair_journal
from orchestrator.journal.full_text.event_words import EventWords
from orchestrator.journal.full_text.index import SearchIndex
from orchestrator.journal.full_text.search import search_events
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import read_state
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from orchestrator.llm.litellm_adapter.message_conversion import render_messages
from orchestrator.llm.litellm_adapter.reasoning import ReasoningWriter
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.journal_search import SearchHit
from tests.loopback.builders import call, reply, request
from tests.running.cli import environment
from tests.running.goals import Bench, Hears
from tests.running.journals import write
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.attack(54)

HALF = r'{"command": "echo \ud800 needle"}'
DEEP = '{"reason": ' + "[" * 5_000 + "]" * 5_000 + "}"
ODD_CALLS = (
    ("shell", HALF),
    ("write", r'{"path": "\udcff.txt", "text": "\u0000\ud83d"}'),
    ("read", '{"path": NaN}'),
    ("edit", '{"path": "a", "old": 1e999, "new": -Infinity}'),
    ("recall", f'{{"query": "needle", "limit": {"9" * 5_000}}}'),
    ("request_tier", DEEP),
    ("no\ud800tool", r'{"a": "\udfff", "a": 2}'),
)
ODD_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
ODD_JSON = st.recursive(
    ODD_TEXT | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=6,
)
QUICKLY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SESSION = SessionId("work:a@1")


class Killed(Exception):
    """Stands for what ended the process."""


def worker(*, ends: bool = True) -> list[ScriptedReply]:
    """A worker whose model writes what can hardly be read, and then looks for it."""
    odd = [reply(role="worker", task="a", call=[call(name, raw=raw)]) for name, raw in ODD_CALLS[:2]]
    recalls = uses("worker", "a", "recall", query="needle")
    more = [reply(role="worker", task="a", call=[call(name, raw=raw)], text="\ud800") for name, raw in ODD_CALLS[2:]]
    between = [writes("a", f"{number}.txt", "x") for number in range(len(more))]
    rest = [one for pair in zip(more, between, strict=True) for one in pair]
    return [*odd, recalls, *rest, worker_ends("a"), reviews("a"), planner_ends(), judges()]


def script() -> list[ScriptedReply]:
    """A whole run of it."""
    return [plans("root", {"key": "a"}), *worker()]


def stops_at_recall(event: Event) -> None:
    """End the process where the index could not take what the model wrote."""
    if isinstance(event, ToolCalled) and event.name == "recall":
        raise Killed


async def says(bench: Bench, *words: str) -> Result:
    """Return what a verb does with the latest run."""
    where = ("--repo", str(bench.repository), "--state", str(bench.root / "state"))
    return await to_thread.run_sync(CliRunner().invoke, cli, [*words, *where])


@pytest.mark.sandbox
@pytest.mark.timeout(240)
async def test_a_run_that_half_a_character_had_stopped_opens_and_goes_on(tmp_path: Path) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    with pytest.raises(ExceptionGroup) as stopped:
        await bench.run(*script(), when=Hears(stops_at_recall))
    assert stopped.group_contains(Killed)
    journal = next((tmp_path / "state").rglob("journal.db"))
    bodies = [row[7] for row in read_rows(journal) if row[2] == b"tool.called"]
    assert json.dumps(HALF)[1:-1].encode() in bodies[1], "as it was always stored: the very text that the model wrote"
    found = await says(bench, "logs", "--search", "needle")
    assert found.exit_code == 0 and "needle" in found.output, found.output
    ended = await bench.resume(*script())
    assert ended.exit_code == 0, ended.error
    seen = [recorded.event for recorded in read_all_events(journal) if isinstance(recorded.event, ToolReturned)]
    recalled = [event for event in seen if event.name == "recall" and event.ok]
    assert recalled and "needle" in recalled[0].observation.head
    assert (repair_journal(RunDirectory(journal.parent)), (await bench.resume(*script())).exit_code) == (None, 0)


def read_rows(journal: Path) -> list[Any]:
    store = EventStore.open_reader(journal)
    try:
        return list(store.read_rows())
    finally:
        store.close()


VERBS = (
    *(
        ("logs", "--all"),
        ("logs", "--json"),
        ("logs", "--search", "needle", "--json"),
        ("status",),
        ("status", "--json"),
    ),
    *(("show", "latest", "a"), ("show", "latest", "a", "--json"), ("cost",), ("diff",), ("inbox",), ("repair",)),
    ("report",),
    ("report", "--json"),
    *(("report", f"--{form}", "-") for form in ("html", "md", "junit", "sarif", "summary", "data")),
    ("watch", "--plain"),
)


@pytest.mark.sandbox
@pytest.mark.timeout(240)
async def test_whatever_a_model_has_written_every_verb_can_show(tmp_path: Path) -> None:
    bench = Bench(tmp_path, calculator(tmp_path / "repo"))
    ended = await bench.run(*script())
    assert ended.exit_code == 0, ended.error
    for words in VERBS:
        done = await says(bench, *words)
        assert done.exit_code == 0, (words, done.output, done.exception)
        done.output.encode()
    done = await says(bench, "repair")
    assert "sound" in done.output


def test_control_the_index_takes_no_half_character() -> None:
    index = SearchIndex.open_in_memory()
    with pytest.raises(UnicodeEncodeError):
        index.add_documents([(1, EventWords(json.loads(HALF)["command"], ""))], 1, b"")
    index.close()


def events(text: str, value: object) -> list[Event]:
    """An odd text at every place where models, tools and people put one, and an odd value as arguments."""
    arguments = json.dumps(value)
    shared = {"task": TaskId("a"), "session": SESSION, "turn": 0}
    called = ToolCall(id=text, name=text, arguments=arguments)
    return [
        SessionStarted(
            task=TaskId("a"), session=SESSION, role="worker", model=text, prompt="p",
            system=Text.build_inline(text), brief=Text.build_inline(text),
        ),
        ModelCalled(**shared, key="model~0", role="worker", model=text),
        ModelReplied(
            **shared, key="model~0", role="worker", model=text, text=Text.build_inline(text), tool_calls=(called,),
            finish_reason=text, usage=Usage(), seconds=0.1,
        ),
        ToolCalled(**shared, key="tool~0", name=text, arguments=Text.build_inline(arguments)),
        ToolReturned(
            **shared, key="tool~0", call_id=text, name=text, ok=True, observation=Text.build_inline(text), seconds=0.1
        ),
        Noticed(level="info", text=f"{text} needle"),
    ]  # fmt: skip


@given(text=ODD_TEXT, value=ODD_JSON)
@example(text="\ud800", value={"command": "\udfff", "nan": float("nan")})
@QUICKLY
async def test_whatever_is_appended_is_read_folded_searched_and_sound(
    tmp_path_factory: pytest.TempPathFactory, text: str, value: object
) -> None:
    directory = tmp_path_factory.mktemp("run")
    journal = Journal(directory, SystemClock())
    await journal.append(*events(text, value))
    kept = await journal.store_text(text * 200)
    assert await journal.read_text(kept) == (kept.head if kept.is_whole else await journal.read_text(kept))
    journal.close()
    assert len(list(read_all_events(directory / "journal.db"))) == 6
    assert read_state(directory / "journal.db").seq == 6
    assert [hit.seq for hit in search_events(directory, "needle", 1)] == [6]
    search_events(directory, text, 10, task=text, session=text)
    assert repair_journal(RunDirectory(directory)) is None


@given(text=ODD_TEXT, value=ODD_JSON)
@example(text="\ud800", value={"command": "\udfff", "nan": float("nan")})
def test_whatever_a_model_replied_can_be_sent_to_a_provider_again(text: str, value: object) -> None:
    said = Reply(text=text, tool_calls=(ToolCall(id=text, name=text, arguments=json.dumps(value)),), model=text)
    messages = (
        Message(role="assistant", text=said.text, tool_calls=said.tool_calls),
        Message(role="tool", text=text, call_id=text),
    )
    sent = render_messages(messages, ReasoningWriter(request()))
    assert json.loads(json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()) == sent
    arguments = json.loads(sent[0]["tool_calls"][0]["function"]["arguments"])
    assert json.loads(json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()) == arguments


@given(value=ODD_JSON)
def test_json_of_others_is_read_as_text_that_can_be_encoded(value: object) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        read = decode_json(text)
        again = json.loads(json.dumps(read, ensure_ascii=False).encode())
        assert json.dumps(again) == json.dumps(read)  # as text, for no NaN equals another one


@pytest.mark.parametrize("text", [DEEP, "9" * 5_000, b"\xff", "{", ""])
def test_json_that_cannot_be_read_is_one_kind_of_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        decode_json(text)


def test_repair_sees_an_event_that_no_resume_gets_past_and_sets_it_aside(tmp_path: Path) -> None:
    impossible = TaskEnded(task=TaskId("nobody"), status=TaskStatus.MERGED, reason="it never began")
    write(tmp_path, [Noticed(level="info", text="before"), impossible, Noticed(level="info", text="after")])
    with pytest.raises(JournalProblem, match="event 2 cannot have happened"):
        read_state(tmp_path / "journal.db")
    result = repair_journal(RunDirectory(tmp_path))
    assert result is not None
    assert (result.kept, result.lost, result.set_aside) == (1, ((2, 2),), ((3, 3),))
    assert read_state(tmp_path / "journal.db").seq == 2
    assert repair_journal(RunDirectory(tmp_path)) is None


def test_repair_gets_past_an_event_without_its_shape_whose_sum_is_right(tmp_path: Path) -> None:
    write(tmp_path, [Noticed(level="info", text="before"), Noticed.model_construct(text="of no level")])
    result = repair_journal(RunDirectory(tmp_path))
    assert result is not None
    assert (result.kept, result.lost) == (1, ((2, 2),))
    assert repair_journal(RunDirectory(tmp_path)) is None


async def test_words_of_a_command_line_that_are_no_utf_8_end_no_verb(tmp_path: Path) -> None:
    word = os.fsdecode(b"caf\xe9")
    sent = InboxCommand(key="c1", at=datetime.now(UTC), by="me", command=Retry(task=TaskId(word), note=word))
    inbox = RunDirectory(tmp_path).inbox
    inbox.send_command(sent)
    taken = [one.command for _, one in inbox.iterate_commands()]
    assert taken == [Retry(task=TaskId("caf\\udce9"), note="caf\\udce9")]
    write(tmp_path, [Noticed(level="info", text="café")])
    assert search_events(tmp_path, "caf*", 10, task=word, session=word) == []


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_lacks_a_character_ends_no_command(tmp_path: Path, encoding: str) -> None:
    run = tmp_path / "state" / "runs" / "20260101-000000-0000"
    write(run, [Noticed(level="info", text="naïve 漢字 ✓"), Noticed(level="info", text="the end")])
    program = f"import sys; from orchestrator.cli.main import main; main({['--help']!r})"
    shown = f"from orchestrator.cli.main import _replace_closed_streams as open_; open_(); print({'漢字 end'!r})"
    for source in (program, shown):
        words = [sys.executable, "-X", "utf8=0", "-c", source]
        env = environment(tmp_path, PYTHONIOENCODING=encoding)
        done = subprocess.run(words, env=env, capture_output=True, check=False, cwd=Path(__file__).parents[2])
        assert done.returncode == 0, done.stderr
    assert b"\\u6f22\\u5b57 end" in done.stdout


class Unsearchable(Journal):
    """A journal of which no index can be made."""

    async def search_events(self, query: str, limit: int) -> list[SearchHit]:
        raise SearchUnavailable("the search index cannot be used")


async def test_where_no_index_can_be_made_one_call_of_a_tool_is_refused_and_nothing_ends(tmp_path: Path) -> None:
    journal = Unsearchable(tmp_path, SystemClock())
    told = await build_recall_tool(journal)('{"query": "needle"}')
    journal.close()
    assert not told.is_ok and "cannot be used" in told.text
