"""The journal at scale, against the bounds of issue and design: open and fold, search, the lag of a second process.

    python -m bench.journal [--events 1000000] [--keep DIR]

Quick by default (50,000 events). Leaves with 1 if a bound is passed.
"""

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from orchestrator.domain.attempt import Attempt
from orchestrator.domain.event import Event, Recorded
from orchestrator.domain.event.run import EngineStarted, RunStarted
from orchestrator.domain.event.work import (
    AttemptStarted,
    ModelCalled,
    ModelReplied,
    SessionStarted,
    TaskCreated,
    ToolCalled,
    ToolReturned,
    TurnEnded,
)
from orchestrator.domain.fold import advance
from orchestrator.domain.ids import CommitId, RunId, SessionId, TaskId, TreeId
from orchestrator.domain.state import RunState
from orchestrator.domain.task import Task
from orchestrator.domain.text import Text
from orchestrator.domain.usage import Usage
from orchestrator.journal.store import Store

BOUNDS = {"open and fold, s": 3.0, "search, ms": 100.0, "tail lag, ms": 250.0}
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = [
    f"{a}{b}"
    for a in ["bar", "cel", "dor", "fen", "gal", "hul", "jin", "kap", "lom", "mur"]
    for b in ["ade", "ion", "ux", "er", "ol", "ite"]
]
TURNS = 50


def story() -> Iterator[Event]:
    """A run without an end: tasks, each with a worker's session of many turns."""
    chance = random.Random(7)
    commit, tree = CommitId("1" * 40), TreeId("2" * 40)
    yield RunStarted(
        run=RunId("bench"), mode="goal", goal="measure", started_at=START, repository="/r", base=commit,
        base_tree=tree, branch="b", target="main", settings={},
    )  # fmt: skip
    yield EngineStarted(epoch=1, pid=1, host="h", version="0")
    number = 0
    while True:
        number += 1
        task, session = TaskId(f"task-{number}"), SessionId(f"task-{number}@1/worker")
        yield TaskCreated(
            task=task, spec=Task(id=task, parent=TaskId("root"), depth=1, kind="leaf", title="t", outcome="o")
        )
        attempt = Attempt(task=task, number=1, mode="fresh", base=commit, model="m")
        yield AttemptStarted(task=task, attempt=attempt)
        yield SessionStarted(
            task=task, session=session, role="worker", model="m", prompt="p", system=said(chance), brief=said(chance)
        )
        for turn in range(TURNS):
            yield from _turn(task, session, turn, chance, tree)


def _turn(task: TaskId, session: SessionId, turn: int, chance: random.Random, tree: TreeId) -> Iterator[Event]:
    model, tool = f"model/{session}/{turn}~0", f"tool/{session}/{turn}/0~0"
    yield ModelCalled(task=task, session=session, key=model, turn=turn, role="worker", model="m")
    yield ModelReplied(
        task=task, session=session, key=model, turn=turn, role="worker", model="m", text=said(chance), tool_calls=(),
        finish_reason="stop", usage=Usage(calls=1, input_tokens=900, output_tokens=90), seconds=1.5,
    )  # fmt: skip
    yield ToolCalled(task=task, session=session, key=tool, turn=turn, name="shell", arguments=said(chance))
    yield ToolReturned(
        task=task, session=session, key=tool, turn=turn, call_id="c", name="shell", ok=True, observation=said(chance),
        seconds=0.1,
    )  # fmt: skip
    yield TurnEnded(task=task, session=session, turn=turn, tree=tree)


def said(chance: random.Random) -> Text:
    """Some words."""
    return Text.inline(" ".join(chance.choices(WORDS, k=12)))


def fill(place: Path, count: int) -> tuple[float, RunState]:
    """A journal of so many events; events per second, and the state they fold to."""
    store, state = Store.open_writer(place / "journal.db"), RunState()
    store.claim()
    events = enumerate(story(), 1)
    spent = 0.0
    while state.seq < count:
        batch = [
            Recorded(seq, START + timedelta(milliseconds=100 * seq), event)
            for seq, event in islice(events, min(1000, count - state.seq))
        ]
        for recorded in batch:
            advance(state, recorded)
        begun = time.perf_counter()
        store.insert(batch)
        spent += time.perf_counter() - begun
    store.close()
    return count / spent, state
