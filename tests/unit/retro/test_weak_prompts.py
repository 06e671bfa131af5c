"""What keeps going wrong under a prompt, read from journals: named beyond its bounds, and only then."""

from collections.abc import Iterable, Sequence

import pytest

from orchestrator.domain.event import Event
from orchestrator.domain.event.work import AttemptEnded, AttemptStarted, SessionStarted
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.run.task import EndCause, Exit
from orchestrator.retro.decisions import JudgedDecision
from orchestrator.retro.findings import find_weak_prompts
from orchestrator.retro.rates import bound_rate
from orchestrator.retro.rows import build_rows
from orchestrator.retro.run_reading import read_decisions
from tests.running.goal_events import asks, begun, created, judged, landed, recorded, worked

NAMES = {"p": "worker"}
NOQA = Finding(rule="suppression", text="a.py silences a tool", is_blocking=True, path="a.py")


def work(name: str, number: int = 1, **attempt: str) -> list[Event]:
    return worked(name, number, asks(f"work:{name}@{number}", name, "worker"), **attempt)


def sound(name: str) -> list[Event]:
    return [created(name), *work(name), judged(name, "merge"), *landed(f"{name}@1")]


def refused(name: str, cause: EndCause = EndCause.RULE_BROKEN, *findings: Finding) -> list[Event]:
    """A task that is sent back once, and then lands."""
    first = [created(name), *work(name), judged(name, "revise", cause=cause, findings=findings, reasons=("why",))]
    return [*first, *work(name, 2, mode="revise"), judged(name, "merge", 2), *landed(f"{name}@2")]


def decide(*runs: Iterable[Event]) -> Sequence[JudgedDecision]:
    """The decisions of runs, which are called r0, r1, …"""
    decisions = []
    for number, events in enumerate(runs):
        journal = recorded([*begun(), *events])
        for one in read_decisions(fold_events(journal), journal, NAMES):
            decisions.append(one.model_copy(update={"run": RunId(f"r{number}")}))
    return decisions


def test_a_rule_that_is_broken_in_three_tasks_of_two_runs_is_named_with_its_places() -> None:
    broken = [refused(name, EndCause.RULE_BROKEN, NOQA) for name in ("a", "b", "c")]
    (found,) = find_weak_prompts(decide([*broken[0], *broken[1]], [*broken[2], *sound("d")]))
    assert (found.use.name, found.cause.label, found.models) == ("worker", "rule suppression", ("openai/worker",))
    assert (found.tasks, found.all_tasks, found.runs, found.all_runs) == (3, 4, 2, 2)
    assert [fault.path for decision in found.decisions for fault in decision.faults] == ["a.py"] * 3
    assert found.lost.usd == 3


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([[*sound("a"), *sound("b"), *sound("c")], sound("d")], id="nothing is sent back"),
        pytest.param([refused("a", EndCause.RULE_BROKEN, NOQA), refused("b", EndCause.RULE_BROKEN, NOQA)], id="two"),
        pytest.param(
            [[event for name in "abc" for event in refused(name, EndCause.RULE_BROKEN, NOQA)]], id="in one run"
        ),
        pytest.param(
            [
                [event for name in "abcdefgh" for event in sound(name)],
                [event for name in "abc" for event in refused(name, EndCause.RULE_BROKEN, NOQA)],
                refused("d", EndCause.RULE_BROKEN, NOQA),
            ],
            id="too seldom to be sure",
        ),
        pytest.param(
            [[*refused("a", EndCause.RED_TESTS), *sound("b")], [*refused("a", EndCause.RED_TESTS), *sound("b")]] * 3,
            id="red tests at every other task",
        ),
        pytest.param([refused("a", EndCause.CONFLICT), refused("b", EndCause.CONFLICT)] * 3, id="conflicts"),
        pytest.param([refused("a", EndCause.UNSETTLED_TESTS)] * 5, id="infrastructure"),
    ],
)
def test_what_is_within_the_bounds_or_not_the_prompt_s_is_not_named(runs: list[list[Event]]) -> None:
    assert find_weak_prompts(decide(*runs)) == []


def test_sessions_that_come_to_no_end_are_named_by_how_they_ended() -> None:
    def stuck(name: str) -> list[Event]:
        events = [created(name), *work(name)]
        events[-1] = AttemptEnded(task=TaskId(name), number=1, exit=Exit.STUCK, detail="3 replies in a row")
        return events

    (found,) = find_weak_prompts(decide(*([*stuck("a"), *stuck("b")] for _ in range(2))))
    assert (found.cause.label, found.tasks) == ("exit stuck", 4)


def test_two_wordings_of_one_prompt_are_told_apart() -> None:
    events = refused("a", EndCause.RULE_BROKEN, NOQA)
    other: list[Event] = []
    for event in events:
        is_start = isinstance(event, SessionStarted)
        other.append(event.model_copy(update={"prompt": "q"}) if is_start else event)
    decisions = decide(events, events, other)
    assert find_weak_prompts(decisions) == []
    assert [(row.use.sha, row.decisions, row.landed, row.sent_back) for row in build_rows(decisions)] == [
        ("p", 4, 2, 2),
        ("q", 2, 1, 1),
    ]


def test_an_attempt_without_a_session_is_not_counted() -> None:
    begun_only = [created("a"), *worked("a")]
    assert isinstance(begun_only[1], AttemptStarted)
    assert decide(begun_only) == []


def test_a_rate_is_bounded_by_what_few_cases_can_show() -> None:
    assert bound_rate(0, 0) == (0.0, 1.0)
    assert [round(bound, 3) for bound in bound_rate(3, 4)] == [0.301, 0.954]
    assert bound_rate(10, 10).low > bound_rate(3, 3).low > 0.4


def test_a_session_of_an_unknown_wording_is_named_by_what_it_is_about() -> None:
    events = [*refused("a", EndCause.RULE_BROKEN, NOQA)]
    journal = recorded([*begun(), *events])
    unknown = read_decisions(fold_events(journal), journal, {})
    assert {one.use.name for one in unknown} == {"worker"}
