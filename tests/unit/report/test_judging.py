"""How reviewers held up, told from a journal: what escaped them, what they refused for nothing, and what they cost."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, TrialJudged, UnitEjected
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested
from orchestrator.domain.event.run import FlakesSeen, IterationJudged, IterationStarted, RunStarted
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    CandidateTaken,
    LensVoted,
    ModelReplied,
    SessionStarted,
    TaskCreated,
    TaskEnded,
    VerdictGiven,
)
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import CommitId, RunId, SessionId, TaskId, TreeId, UnitId
from orchestrator.domain.judging.check import Difference
from orchestrator.domain.judging.verdict import LensVote, Verdict, VerdictKind
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.contract import IterationVerdict
from orchestrator.domain.run.task import Attempt, AttemptMode, EndCause, Exit, Task, TaskStatus
from orchestrator.domain.text.blob_text import Text
from orchestrator.report.judging.lens_accuracy import VoteLog
from orchestrator.report.judging.rendering import build_judging_report, render_judging_lines
from orchestrator.report.judging.totals import JudgingTotals
from tests.running.goal_events import checked

DAY = datetime(2026, 1, 1, tzinfo=UTC)
BASE = CommitId("b" * 40)
KINDS = {"revise": VerdictKind.REVISE, "restart": VerdictKind.RESTART, "unreadable": VerdictKind.ESCALATE}


def begun(run: str = "r") -> list[Event]:
    started = RunStarted(
        run=RunId(run),
        mode="goal",
        goal="g",
        started_at=DAY,
        repository="/r",
        base=BASE,
        base_tree=TreeId("t" * 40),
        branch="x",
        target="main",
        settings={},
    )
    return [started, IterationStarted(number=1)]


def created(name: str, parent: str | None = None) -> TaskCreated:
    spec = {"id": name, "parent": parent, "depth": 1, "kind": "leaf", "title": name, "outcome": name}
    return TaskCreated(task=TaskId(name), spec=Task.model_validate(spec))


def judged(name: str, number: int, tree: str, **votes: str) -> list[Event]:
    """An attempt with a candidate, what each lens said of it, and what that cost; all approving is a merge."""
    task = TaskId(name)
    mode: AttemptMode = "fresh" if number == 1 else "restart"
    attempt = Attempt(task=task, number=number, mode=mode, base=BASE, model="w")
    taken = {"commit": tree, "tree": tree, "ref": f"refs/{tree}", "paths": (), "added": 1, "removed": 0}
    given = [LensVote.model_validate({"lens": lens, "model": "m", "decision": word}) for lens, word in votes.items()]
    kind = next((KINDS[word] for word in votes.values() if word != "approve"), VerdictKind.MERGE)
    cause = None if kind == VerdictKind.MERGE else EndCause.REFUSED_BY_REVIEW
    return [
        AttemptStarted(task=task, attempt=attempt),
        CandidateTaken(task=task, key=f"c/{name}@{number}~0", number=number, **taken),
        AttemptEnded(task=task, number=number, exit=Exit.FINISHED),
        *(event for lens in votes for event in reviewed(task, number, lens)),
        *(LensVoted(task=task, number=number, vote=vote) for vote in given),
        VerdictGiven(task=task, number=number, verdict=Verdict(kind=kind, votes=tuple(given), cause=cause)),
    ]


def reviewed(task: TaskId, number: int, lens: str) -> list[Event]:
    """The conversation in which a lens made up its mind: ten cents."""
    session = SessionId(f"review:{task}@{number}" + ("" if lens == "diff" else f"/{lens}"))
    who: dict[str, Any] = {"task": task, "session": session, "role": "judge"}
    said = {"text": Text(), "tool_calls": (), "finish_reason": "stop", "seconds": 1.0, "turn": 0}
    usage = Usage(calls=1, output_tokens=5, cost_usd=Decimal("0.1"))
    return [
        SessionStarted(**who, model="m", prompt="p", system=Text(), brief=Text()),
        ModelReplied(**who, key=f"model/{session}~0", model="m", usage=usage, **said),
    ]


def landed(*units: str) -> LandingFinished:
    names = tuple(map(UnitId, units))
    return LandingFinished(key=f"l/{names}~0", branch="x", new=CommitId("n" * 40), tree=TreeId("z" * 40), units=names)


def ejected(unit: str, *conflict: str) -> UnitEjected:
    return UnitEjected(round="1", unit=UnitId(unit), conflict=conflict, difference=Difference(new_failures=("t",)))


def counted(*runs: Sequence[Event], top: str | None = None) -> JudgingTotals:
    judging = JudgingTotals()
    for events in runs:
        recorded = [RecordedEvent(number, DAY, event) for number, event in enumerate(events, start=1)]
        votes = VoteLog()
        votes.record_events(recorded)
        judging.add_run(fold_events(recorded), votes, TaskId(top) if top else None)
    return judging


def lens(judging: JudgingTotals, name: str = "diff") -> dict[str, Any]:
    found: Iterable[dict[str, Any]] = build_judging_report(judging).as_object()["lenses"]
    return next(one for one in found if one["lens"] == name)


def escapes(*events: Event) -> dict[str, int]:
    """Which signs there are against approvals."""
    return {name: count for name, count in lens(counted([*begun(), *events]))["escapes"].items() if count}


def test_an_approval_escapes_when_the_queue_finds_it_red_and_not_when_its_lines_were_taken() -> None:
    tried = [created("a"), *judged("a", 1, "x", diff="approve")]
    assert escapes(*tried, ejected("a@1")) == {"ejected": 1}
    assert escapes(*tried, ejected("a@1", "calc.py")) == {}
    assert escapes(*tried, landed("a@1")) == {}


def test_an_approval_escapes_when_another_lens_or_a_person_refuses_the_same_attempt() -> None:
    assert escapes(created("a"), *judged("a", 1, "x", diff="approve", code="revise")) == {"other-lens": 1}
    asked = Approval(item="landing/a@1", matter="landing", subject="a@1", title="land", detail=(), default="reject")
    tried = [created("a"), *judged("a", 1, "x", diff="approve"), ApprovalRequested(approval=asked)]
    assert escapes(*tried, ApprovalDecided(item="landing/a@1", decision="reject", by="ada")) == {"denied": 1}
    assert escapes(*tried, ApprovalDecided(item="landing/a@1", decision="reject", by="expiry")) == {}


def test_an_approval_escapes_when_the_iteration_that_it_landed_in_is_begun_afresh() -> None:
    tried = [created("a"), *judged("a", 1, "x", diff="approve"), landed("a@1")]
    later = [IterationStarted(number=2), created("b"), *judged("b", 1, "y", diff="approve"), landed("b@1")]
    again = IterationJudged(number=1, verdict=IterationVerdict(decision="restart"))
    more = IterationJudged(number=1, verdict=IterationVerdict(decision="continue"))
    assert escapes(*tried, again, *later) == {"restarted": 1}
    assert escapes(*tried, more, *later) == {}


def test_a_veto_was_false_when_the_very_tree_that_it_refused_lands_after_all() -> None:
    refused = [created("a"), *judged("a", 1, "x", diff="revise")]
    same = [*refused, *judged("a", 2, "x", diff="approve"), landed("a@2")]
    other = [*refused, *judged("a", 2, "y", diff="approve"), landed("a@2")]
    elsewhere = [*refused, created("b"), *judged("b", 1, "x", diff="approve"), landed("b@1")]
    found = [lens(counted([*begun(), *events]))["false_vetoes"] for events in (same, other, elsewhere)]
    assert found == [1, 0, 0]


def test_rates_stand_beside_what_they_are_counted_from_and_few_votes_are_no_basis() -> None:
    def run(name: str, tasks: int) -> list[Event]:
        names = [f"t{number}" for number in range(tasks)]
        tried = [event for task in names for event in (created(task), *judged(task, 1, task, diff="approve"))]
        return [*begun(name), *tried, ejected("t0@1"), landed(*(f"{task}@1" for task in names[1:]))]

    few, many = counted(run("one", 4)), counted(run("one", 4), run("two", 6))
    assert (lens(few)["escaped"], lens(few)["escape_rate"], few.runs) == (1, None, ["one"])
    assert (lens(many)["approvals"], lens(many)["escape_rate"], many.runs) == (10, 0.2, ["one", "two"])
    assert "  escaped: 1 of 4, no basis yet (1 ejected)" in render_judging_lines(few)
    assert "  escaped: 2 of 10, 20.0% (2 ejected)" in render_judging_lines(many)
    assert "  vetoed and landed after all: 0 of 0, no basis yet" in render_judging_lines(many)


def test_each_lens_is_told_with_its_own_votes_and_what_each_cost() -> None:
    events = [*begun(), created("a"), *judged("a", 1, "x", diff="approve", code="unreadable"), created("b")]
    judging = counted([*events, *judged("b", 1, "y", diff="revise")])
    diff, code = lens(judging), lens(judging, "code")
    assert (diff["votes"], diff["vetoes"]["revise"], diff["undecided"], diff["usd_per_vote"]) == (2, 1, 1, 0.1)
    assert (code["votes"], code["unreadable"], code["spent"]["usd"]) == (1, 1, 0.1)
    assert "lens code on m: 1 votes, cost $0.10, $0.1000 each" in render_judging_lines(judging)
    assert lens(counted([*events, *judged("b", 1, "y", diff="revise")], top="b"))["votes"] == 1


def test_verdicts_ends_attempts_receipts_and_flaky_tests_are_counted() -> None:
    def rests_on(events: list[Event], *keys: str) -> list[Event]:
        last = events[-1]
        assert isinstance(last, VerdictGiven)
        verdict = last.verdict.model_copy(update={"receipts": keys})
        return [*events[:-1], last.model_copy(update={"verdict": verdict})]

    trial = TrialJudged(round="1", units=(UnitId("a@2"),), tree=TreeId("x"), difference=Difference(), cached=True)
    events = [
        *begun(),
        *(checked("k1", "x"), checked("k2", "y")),
        created("a"),
        *rests_on(judged("a", 1, "x", diff="revise"), "k1"),
        *rests_on(judged("a", 2, "x", diff="approve"), "k1"),
        *(trial, landed("a@2")),
        created("b"),
        *rests_on(judged("b", 1, "y", diff="unreadable"), "k2"),
        TaskEnded(task=TaskId("b"), status=TaskStatus.BLOCKED, reason="?", cause=EndCause.UNREADABLE_REVIEW),
        FlakesSeen(check="gate.1", tree=TreeId("x"), flaky=("shaky",), receipts=("k1", "k2")),
    ]
    told = build_judging_report(counted(events)).as_object()
    assert told["verdicts"]["kinds"] == {"escalate": 1, "merge": 1, "revise": 1}
    assert told["verdicts"]["causes"] == {"refused-by-review": 2}
    assert told["ends"] == [
        {"status": "blocked", "cause": "unreadable-review", "tasks": 1},
        {"status": "merged", "cause": None, "tasks": 1},
    ]
    assert told["attempts"] == {"per_merged_task": 2.0, "merged_tasks": {"2": 1}}
    assert told["receipts"] == {
        "run": 2,
        "reused": 2,
        "seconds": 3.0,
        "reruns": 0,
        "rerun_seconds": 0.0,
        "per_landed_task": 2.0,
        "whole_per_landed_task": 0.0,
    }
    assert told["flaky"] == [{"test": "shaky", "seen": 1}]
    lines = list(render_judging_lines(counted(events)))
    assert "  tasks blocked, unreadable-review: 1" in lines
    assert "receipts: 2 made in 3.0 s, 2 times one was reused" in lines
    assert "  2.0 for each landed task, 0.0 of them of the whole gate" in lines
    assert "  flaky: shaky, seen both ways 1 times" in lines
