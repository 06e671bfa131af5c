"""Journals that no engine wrote, but the real Store: a fleet of any size at work, with one very long conversation."""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, islice
from pathlib import Path

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import ToolCall
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import EngineStarted, IterationStarted, RunStarted
from orchestrator.domain.event.work import (
    AttemptStarted,
    ModelCalled,
    ModelReplied,
    PlanningStarted,
    PlanSubmitted,
    SessionStarted,
    TaskCreated,
    ToolCalled,
    ToolReturned,
    TurnEnded,
)
from orchestrator.domain.ids import CommitId, RunId, SessionId, TaskId, TreeId
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.plan import Plan
from orchestrator.domain.run.task import Attempt, Task
from orchestrator.domain.text.blob_text import INLINE_CHARS, Text
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.journal.storage.event_store import EventStore

START = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(milliseconds=100)
ROOT = TaskId("root")
LONGEST = SessionId("task-000@1/worker")
"""The conversation with the many lines."""
LINES_AT_ONCE = 1_000
_COMMIT, _TREE = CommitId("1" * 40), TreeId("2" * 40)
_MODELS = ("acme/large", "acme/small", "other/one")
_BATCH = 2_000


def fleet_journal(
    path: Path, workers: int = 200, lines: int = 100_000, *, asking: int = 2, turns: int = 3, started: datetime = START
) -> RunDirectory:
    """A run that is being worked on, in a directory that becomes the run's: what a dashboard has to cope with.

    The first worker has said and read `lines` lines; the last `asking` ones wait for an answer of a person. The events
    lie a tenth of a second apart from `started` on.
    """
    fleet = Fleet(path, workers)
    asked = (fleet.asks(number) for number in range(workers - asking, workers))
    work = islice(fleet.works(), 5 * turns * workers)
    write(path, [*fleet.begins(), *fleet.reads(lines), *work, *asked], started)
    return RunDirectory(path)


def write(path: Path, events: Iterable[Event], started: datetime = START) -> None:
    """A new journal with these events, or these after those that it has."""
    source = iter(events)
    write_batches(path, iter(lambda: list(islice(source, _BATCH)), []), started)


def write_batches(path: Path, batches: Iterable[Sequence[Event]], started: datetime | None = None) -> None:
    """The same, each batch durable before the next one is asked for; events are of now without `started`."""
    path.mkdir(parents=True, exist_ok=True)
    store = EventStore.open_writer(path / "journal.db")
    try:
        store.claim_writer()
        seq = store.read_last_seq()
        for batch in batches:
            now = datetime.now(UTC)
            numbered = enumerate(batch, seq + 1)
            store.insert_events([RecordedEvent(n, started + n * STEP if started else now, one) for n, one in numbered])
            seq += len(batch)
    finally:
        store.close()


class Fleet:
    """The events of so many workers, by and by."""

    def __init__(self, path: Path, workers: int, *, first_turn: int = 0) -> None:
        self._blobs = BlobStore(path / "blobs")
        self._chance = random.Random(7)
        self._turns = [first_turn] * workers

    def begins(self) -> Iterator[Event]:
        """The run is planned, and every worker begins."""
        yield RunStarted(
            run=RunId("fleet"), mode="goal", goal="port the storage layer", started_at=START, repository="/repository",
            base=_COMMIT, base_tree=_TREE, branch="orchestrate/fleet", target="main",
            settings={"budget": {"usd": 400}},
        )  # fmt: skip
        yield EngineStarted(epoch=1, pid=1, host="host", version="0")
        yield IterationStarted(number=1)
        yield TaskCreated(task=ROOT, spec=Task(id=ROOT, parent=None, depth=0, kind="branch", title="all", outcome="o"))
        yield PlanningStarted(task=ROOT, round=1)
        yield PlanSubmitted(task=ROOT, round=1, plan=Plan(rationale="each module by itself", tasks=()))
        for number in range(len(self._turns)):
            yield from self._worker_begins(number)

    def works(self) -> Iterator[Event]:
        """Without an end: a turn of each worker, one worker after the other, five events a turn."""
        for number in count():
            yield from self._turn(number % len(self._turns), "3 passed in 0.2s")

    def reads(self, lines: int) -> Iterator[Event]:
        """The first worker's commands print so many lines."""
        for start in range(0, lines, LINES_AT_ONCE):
            printed = (f"line {n}: {self._said(9)}" for n in range(start, min(start + LINES_AT_ONCE, lines)))
            yield from self._turn(0, "\n".join(printed))

    def asks(self, number: int) -> Event:
        """A worker wants its commands to reach more than they may."""
        task = _task(number)
        approval = Approval(
            item=f"tier/{task}/2", matter="tier", subject=f"{task}/2", title=f"let commands of {task} run at tier 2",
            detail=("its worker says: the tests need a package",), settings={"hands": {"tiers": {task: 2}}},
        )  # fmt: skip
        return ApprovalRequested(approval=approval)

    def _worker_begins(self, number: int) -> Iterator[Event]:
        task, model = _task(number), _MODELS[number % len(_MODELS)]
        spec = Task(id=task, parent=ROOT, depth=1, kind="leaf", title=f"port module {number}", outcome="it is ported")
        yield TaskCreated(task=task, spec=spec)
        yield AttemptStarted(task=task, attempt=Attempt(task=task, number=1, mode="fresh", base=_COMMIT, model=model))
        yield SessionStarted(
            task=task, session=_session(number), role="worker", model=model, prompt="p",
            system=Text.build_inline("You are a worker."), brief=Text.build_inline(spec.title),
        )  # fmt: skip

    def _turn(self, number: int, printed: str) -> Iterator[Event]:
        turn = self._turns[number]
        self._turns[number] += 1
        task, session, model = _task(number), _session(number), _MODELS[number % len(_MODELS)]
        asked, used = f"model/{session}/{turn}~0", f"tool/{session}/{turn}/0~0"
        command = f'{{"command": "pytest {self._said(2)}"}}'
        yield ModelCalled(task=task, session=session, key=asked, turn=turn, role="worker", model=model)
        yield ModelReplied(
            task=task, session=session, key=asked, turn=turn, role="worker", model=model,
            text=Text.build_inline(f"I look at {self._said(12)}."), finish_reason="tool_calls", seconds=1.5,
            tool_calls=(ToolCall(id="c", name="shell", arguments=command),),
            usage=Usage(calls=1, input_tokens=900, cached_tokens=400, output_tokens=90, cost_usd=Decimal("0.004")),
        )  # fmt: skip
        yield ToolCalled(
            task=task, session=session, key=used, turn=turn, name="shell", arguments=Text.build_inline(command)
        )
        yield ToolReturned(
            task=task, session=session, key=used, turn=turn, call_id="c", name="shell", ok=True,
            observation=self._kept(printed), seconds=0.1,
        )  # fmt: skip
        yield TurnEnded(task=task, session=session, turn=turn, tree=_TREE)

    def _kept(self, text: str) -> Text:
        if len(text) <= INLINE_CHARS:
            return Text.build_inline(text)
        return Text(head=text[:INLINE_CHARS], size=len(text), sha=self._blobs.write_blob(text.encode()))

    def _said(self, words: int) -> str:
        return " ".join(self._chance.choices(_WORDS, k=words))


_WORDS = ("storage", "index", "cursor", "page", "lock", "commit", "reader", "writer", "cache", "tree", "test", "line")


def _task(number: int) -> TaskId:
    return TaskId(f"task-{number:03}")


def _session(number: int) -> SessionId:
    return SessionId(f"{_task(number)}@1/worker")
