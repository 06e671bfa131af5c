"""The events of goals that never were: tasks, attempts, verdicts, what the queue did and what calls cost."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, LandingStarted
from orchestrator.domain.event.run import CheckFinished, EngineStarted, IterationStarted, RunStarted
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    CandidateTaken,
    CandidateTaking,
    ModelCalled,
    ModelReplied,
    SessionStarted,
    TaskCreated,
    TaskEnded,
    VerdictGiven,
)
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import ROOT_TASK, CommitId, RunId, SessionId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt, EndCause, Exit, Task, TaskStatus
from orchestrator.domain.text.blob_text import Text

DAY = datetime(2026, 1, 1, tzinfo=UTC)
BASE = CommitId("b" * 40)


def begun(**settings: Any) -> list[Event]:
    """A run with its root task."""
    started = RunStarted(
        run=RunId("r1"),
        mode="goal",
        goal="make it better",
        started_at=DAY,
        repository="/r",
        base=BASE,
        base_tree=TreeId("c" * 40),
        branch="x",
        target="main",
        settings=settings,
    )
    engine = EngineStarted(epoch=1, pid=1, host="h", version="1")
    return [started, engine, IterationStarted(number=1), created(ROOT_TASK, None, "branch")]


def created(name: str, parent: str | None = ROOT_TASK, kind: str = "leaf", **fields: Any) -> TaskCreated:
    """A task; its title is its id unless it is given another."""
    depth = 0 if parent is None else 1 + name.count("/")
    spec = {"id": name, "parent": parent, "depth": depth, "kind": kind, "title": name, "outcome": name} | fields
    return TaskCreated(task=TaskId(name), spec=Task.model_validate(spec))


def worked(name: str, number: int = 1, within: Sequence[Event] = (), **attempt: Any) -> list[Event]:
    """An attempt up to its end, with a candidate whose tree is `TASK@NUMBER`; `within` are events after its start."""
    task, key = TaskId(name), f"candidate/{name}@{number}~0"
    started = Attempt.model_validate(
        {"task": name, "number": number, "mode": "fresh", "base": BASE, "model": "m"} | attempt
    )
    taken = CandidateTaken(
        task=task,
        key=key,
        number=number,
        commit=CommitId("1" * 40),
        tree=TreeId(f"{name}@{number}"),
        ref="r",
        paths=("a.py",),
        added=1,
        removed=0,
    )
    return [
        AttemptStarted(task=task, attempt=started),
        *within,
        CandidateTaking(task=task, key=key, number=number),
        taken,
        AttemptEnded(task=task, number=number, exit=Exit.FINISHED),
    ]


def judged(name: str, kind: str, number: int = 1, **verdict: Any) -> VerdictGiven:
    """The verdict on an attempt."""
    return VerdictGiven(task=TaskId(name), number=number, verdict=Verdict(kind=VerdictKind(kind), **verdict))


def ended(name: str, status: str, reason: str = "", cause: EndCause | None = None) -> TaskEnded:
    """A task's end."""
    return TaskEnded(task=TaskId(name), status=TaskStatus(status), reason=reason, cause=cause)


def landed(*units: str) -> list[Event]:
    """Units land together."""
    ids = tuple(UnitId(unit) for unit in units)
    key, new, tree = f"land/{units[0]}~0", CommitId("2" * 40), TreeId("t")
    return [
        LandingStarted(key=key, branch="x", old=None, new=new, tree=tree, units=ids),
        LandingFinished(key=key, branch="x", new=new, tree=tree, units=ids),
    ]


def merged(name: str, within: Sequence[Event] = ()) -> list[Event]:
    """A task that lands at its first attempt."""
    return [*worked(name, within=within), judged(name, "merge"), *landed(f"{name}@1")]


def asks(session: str, task: str, role: str, usd: str | None = "1", turn: int = 0) -> list[Event]:
    """A call of a conversation: of a known price, or of none."""
    where: dict[str, Any] = {"task": TaskId(task), "session": SessionId(session), "role": role}
    key = f"model/{session}/{turn}~0"
    usage = Usage(
        calls=1, input_tokens=90, output_tokens=10, cost_usd=Decimal(usd or 0), unpriced_calls=int(usd is None)
    )
    start = SessionStarted(**where, model=f"openai/{role}", prompt="p", system=Text(), brief=Text())
    called = ModelCalled(**where, key=key, turn=turn, model=f"openai/{role}")
    reply = ModelReplied(
        **where,
        key=key,
        turn=turn,
        model=f"openai/{role}",
        text=Text(),
        tool_calls=(),
        finish_reason="stop",
        usage=usage,
        seconds=1.0,
    )
    return [start, called, reply] if turn == 0 else [called, reply]


def recorded(events: Sequence[Event], every_s: float = 10.0) -> list[RecordedEvent]:
    """The events at a steady pace."""
    return [RecordedEvent(seq, DAY + timedelta(seconds=seq * every_s), event) for seq, event in enumerate(events, 1)]


def told(*events: Event) -> RunState:
    """The state after a beginning and these."""
    return fold_events(recorded([*begun(), *events]))


def checked(key: str, tree: str = "t", check: str = "gate.1") -> CheckFinished:
    """A run of a check on a tree."""
    told = {
        "key": key,
        "check": check,
        "command": "t",
        "tree": tree,
        "environment": "e",
        "exit_code": 0,
        "seconds": 1.5,
    }
    return CheckFinished(key=f"{key}~0", receipt=Receipt.model_validate({**told, "status": ReceiptStatus.COMPLETED}))
