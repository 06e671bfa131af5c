from dataclasses import replace
from itertools import cycle, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.agent.stuck_detector import (
    WINDOW_TURNS,
    StuckDetector,
    StuckPattern,
    StuckPatternName,
    TurnFingerprint,
    find_stuck_pattern,
    fingerprint_turn,
)
from orchestrator.agent.turn import Turn
from orchestrator.domain.chat import ToolCall

A = TurnFingerprint(actions=("shell a",), observation="1")
B = TurnFingerprint(actions=("shell b",), observation="2")
FAILS = TurnFingerprint(actions=("shell a",), observation="1", is_error=True)
FAILS_OTHERWISE = TurnFingerprint(actions=("shell a",), observation="2", is_error=True)
TALK = TurnFingerprint(actions=())


def other(n: int) -> TurnFingerprint:
    return TurnFingerprint(actions=(f"read {n}",), observation="same")


@pytest.mark.parametrize(
    ("turns", "name", "length"),
    [
        ([A] * 4, StuckPatternName.REPETITION, 4),
        ([FAILS, FAILS_OTHERWISE, FAILS], StuckPatternName.ERROR, 3),
        ([TALK] * 3, StuckPatternName.MONOLOGUE, 3),
        ([A, B] * 3, StuckPatternName.ALTERNATION, 6),
    ],
    ids=lambda value: str(value) if isinstance(value, StuckPatternName) else "",
)
def test_stuck_at_the_limit_and_on_and_nudged_once_one_turn_before(
    turns: list[TurnFingerprint], name: StuckPatternName, length: int
) -> None:
    before = [other(1), other(2)]
    more = list(islice(cycle(turns), len(turns) + 6))
    found = [find_stuck_pattern([*before, *more[:size]]) for size in range(1, len(more) + 1)]
    assert found[: length - 2] == [None] * (length - 2)
    nudge = found[length - 2]
    assert nudge is not None
    assert (nudge.name, nudge.length, nudge.is_stuck) == (name, length - 1, False)
    assert nudge.nudge
    assert [(hit.name, hit.is_stuck, hit.nudge) for hit in found[length - 1 :] if hit] == [(name, True, "")] * 7


def test_pattern_in_words() -> None:
    assert find_stuck_pattern([A] * 4) == StuckPattern(
        name=StuckPatternName.REPETITION,
        length=4,
        is_stuck=True,
        sentence="the same action had the same result 4 times in a row",
    )
    nudge = find_stuck_pattern([A] * 3)
    assert nudge is not None
    assert nudge.nudge.startswith("The same action had the same result 3 times in a row. Doing it again will change")


@pytest.mark.parametrize(
    "turns",
    [
        [],
        [A, A, B, A, A, B, A, A],
        [FAILS, FAILS_OTHERWISE.model_copy(update={"is_error": False}), FAILS],
        [TALK, A, TALK, A, TALK],
        [A, B, A, B, B, A, B, A],
        [TurnFingerprint(actions=("shell poll",), observation=str(n)) for n in range(12)],
        [
            step
            for n in range(8)
            for step in (TurnFingerprint(actions=(f"edit {n}",)), TurnFingerprint(actions=("shell test",)))
        ],
    ],
    ids=["nothing", "pairs", "one success", "talk between", "broken circle", "polling", "edit and test"],
)
def test_not_stuck(turns: list[TurnFingerprint]) -> None:
    assert find_stuck_pattern(turns) is None


def test_equal_results_of_unequal_actions_are_no_repetition() -> None:
    assert find_stuck_pattern([other(n) for n in range(WINDOW_TURNS)]) is None


def test_only_the_window_counts() -> None:
    pattern = find_stuck_pattern([A] * 200)
    assert pattern is not None
    assert pattern.length == WINDOW_TURNS


def turn(arguments: str, observation: str, call_id: str = "call_1") -> Turn:
    return Turn("", (ToolCall(id=call_id, name="shell", arguments=arguments),), {call_id: observation})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("ran in 0.12s", "ran in 3.4s"),
        ("at 2026-01-02T03:04:05Z", "at 2026-01-02 03:04:06.123+02:00"),
        ("12:00:01 waiting", "12:00:09 waiting"),
        ("<Foo at 0x7f01>", "<Foo at 0x7fAB>"),
        ("run 123e4567-e89b-42d3-a456-426614174000", "run 123e4567-e89b-42d3-a456-426614174999"),
        ("pid 41", "pid 42"),
        ("stamp 1767225600.25", "stamp 1767225601.5"),
        ("[exit code 0, 0.1 s]\nok", "[exit code 0, 2.0 s]\nok"),
    ],
)
def test_ids_times_and_durations_make_no_difference(left: str, right: str) -> None:
    assert fingerprint_turn(turn('{"command": "x"}', left, "a1")) == fingerprint_turn(
        turn('{"command": "x"}', right, "b2")
    )


@pytest.mark.parametrize(
    ("left", "right"), [("3 failed", "2 failed"), ("a.py:12: error", "a.py:14: error"), ("x", "y")]
)
def test_other_results_make_a_difference(left: str, right: str) -> None:
    assert fingerprint_turn(turn("{}", left)) != fingerprint_turn(turn("{}", right))


def test_arguments_are_compared_by_meaning() -> None:
    assert fingerprint_turn(turn('{"a": 1, "b": [2]}', "")) == fingerprint_turn(turn('{ "b":[2],"a":1 }', ""))
    assert fingerprint_turn(turn('{"a": 1}', "")) != fingerprint_turn(turn('{"a": 2}', ""))
    assert fingerprint_turn(turn("not  json", "")) == fingerprint_turn(turn("not json", ""))


def test_watch_nudges_once_and_then_says_how_the_session_is_stuck() -> None:
    before = [turn('{"command": "ls"}', "a\nb")]
    watch = StuckDetector(before)
    said = [(bool(watch.record_turn(turn('{"command": "ls"}', "a\nb", f"call_{n}"))), watch.pattern) for n in range(3)]
    assert said == [(False, ""), (True, ""), (False, "the same action had the same result 4 times in a row")]


def test_watch_takes_the_harness_word_for_a_failure() -> None:
    watch = StuckDetector()
    refused = [replace(turn("{}", f"refused {n}"), failed=True) for n in "abc"]
    nudges = [bool(watch.record_turn(one)) for one in refused]
    assert (nudges, watch.pattern) == ([False, True, False], "the same action failed 3 times in a row")


def test_watch_of_a_resumed_session_goes_on_where_it_was() -> None:
    turns = [Turn("thinking", ()) for _ in range(3)]
    assert StuckDetector(turns).pattern == "3 replies in a row used no tool; can this model call tools?"


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(), st.sampled_from("ab"), st.booleans()), unique_by=lambda step: step[0]))
def test_distinct_actions_are_never_a_pattern(steps: list[tuple[int, str, bool]]) -> None:
    turns = [TurnFingerprint(actions=(f"do {n}",), observation=result, is_error=failed) for n, result, failed in steps]
    assert find_stuck_pattern(turns) is None


@settings(deadline=None)
@given(st.lists(st.sampled_from([A, B, FAILS, FAILS_OTHERWISE, TALK, other(1)]), max_size=30))
def test_a_nudge_comes_before_every_stop(turns: list[TurnFingerprint]) -> None:
    """Turn by turn, no session is stopped for a pattern that it was not warned of in the turn before."""
    found = [find_stuck_pattern(turns[: size + 1]) for size in range(len(turns))]
    for before, now in zip([None, *found], found, strict=False):
        if now and now.is_stuck:
            assert before is not None


def test_arguments_nested_too_deep_to_be_read_are_compared_as_they_were_written() -> None:
    assert fingerprint_turn(turn("[" * 100_000, "")) == fingerprint_turn(turn(f" {'[' * 100_000}", ""))
