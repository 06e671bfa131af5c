"""Retries are bounded, jittered, honour the provider's wish, and happen only when waiting can help."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.text.durations import format_duration
from orchestrator.errors import ProviderDown
from orchestrator.llm.errors import (
    ERROR_CLASSES,
    CallTimedOut,
    CredentialsMissing,
    ModelError,
    QuotaExhausted,
    RateLimited,
    ReplyTooLarge,
    Unavailable,
    UnknownModel,
)
from orchestrator.llm.retry import RetryEnvironment, RetryPolicy, complete_with_retries
from orchestrator.llm.scripted_model.model import ScriptedModel
from tests.loopback.builders import reply, request

STEADY = RetryPolicy(tries=5, base_s=2, cap_s=60, retry_after_cap_s=300, deadline_s=1_000)


@dataclass
class World:
    """A clock that only sleeping moves, and a record of what happened."""

    draw: float = 0.5
    clock_s: float = 0.0
    call_s: float = 0.0
    waits: list[float] = field(default_factory=list)
    failures: list[tuple[str, int, float | None]] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock_s += seconds

    async def on_failure(self, error: ModelError, try_no: int, retry_in_s: float | None) -> None:
        self.failures.append((error.code, try_no, retry_in_s))
        self.clock_s += self.call_s

    def surroundings(self) -> RetryEnvironment:
        return RetryEnvironment(draw=lambda: self.draw, sleep=self.sleep, now=lambda: self.clock_s)


async def run(world: World, policy: RetryPolicy, *codes: str, retry_after_s: float | None = None) -> Reply:
    items = [reply(error=code, retry_after_s=retry_after_s) for code in codes]
    model = ScriptedModel.from_items(*items, reply("At last."))
    return await complete_with_retries(model, request(), policy, world.on_failure, world.surroundings())


async def test_a_reply_at_the_first_try_costs_no_wait() -> None:
    world = World()
    assert (await run(world, STEADY)).text == "At last."
    assert (world.waits, world.failures) == ([], [])


async def test_transient_failures_are_tried_again_with_doubling_waits() -> None:
    world = World(draw=1.0)
    assert (await run(world, STEADY, "unavailable", "rate-limited", "unavailable")).text == "At last."
    assert world.waits == [2, 4, 8]
    assert world.failures == [("unavailable", 1, 2), ("rate-limited", 2, 4), ("unavailable", 3, 8)]


async def test_waits_stop_growing_at_the_cap() -> None:
    world = World(draw=1.0)
    await run(world, STEADY.model_copy(update={"cap_s": 5.0}), *["unavailable"] * 4)
    assert world.waits == [2, 4, 5, 5]


@pytest.mark.parametrize("code", sorted(code for code, error in ERROR_CLASSES.items() if not error.is_transient))
async def test_what_will_not_pass_by_itself_is_raised_at_once(code: str) -> None:
    world = World()
    with pytest.raises(ERROR_CLASSES[code]):
        await run(world, STEADY, code)
    assert (world.waits, world.failures) == ([], [(code, 1, None)])


async def test_the_tries_are_bounded() -> None:
    world = World()
    with pytest.raises(ProviderDown, match="no reply after 3 tries in 3 s; resume later") as down:
        await run(world, STEADY.model_copy(update={"tries": 3}), *["unavailable"] * 9)
    assert isinstance(down.value.__cause__, Unavailable)
    assert down.value.exit_code == 75
    assert world.failures == [("unavailable", 1, 1), ("unavailable", 2, 2), ("unavailable", 3, None)]


async def test_timeouts_have_a_bound_of_their_own() -> None:
    world = World()
    with pytest.raises(ProviderDown, match="no reply in time after 2 tries") as down:
        await run(world, STEADY, "unavailable", "timed-out", "unavailable", "timed-out", "timed-out")
    assert isinstance(down.value.__cause__, CallTimedOut)
    assert [code for code, _, _ in world.failures] == ["unavailable", "timed-out", "unavailable", "timed-out"]


async def test_the_providers_wish_comes_on_top_of_a_draw() -> None:
    world = World(draw=0.5)
    await run(world, STEADY, "rate-limited", "rate-limited", retry_after_s=30)
    assert world.waits == [31, 31]


async def test_a_wish_beyond_the_cap_ends_the_tries_and_says_the_time() -> None:
    world = World()
    with pytest.raises(ProviderDown, match="asks to wait 3 h 20 min, longer than the 5 min that a call may wait"):
        await run(world, STEADY, "rate-limited", retry_after_s=12_000)
    assert world.waits == []


async def test_no_wait_begins_that_would_end_after_the_deadline() -> None:
    world = World(draw=1.0, call_s=40)
    with pytest.raises(ProviderDown, match="the time for one call is up"):
        await run(world, STEADY.model_copy(update={"deadline_s": 90.0}), *["unavailable"] * 4)
    assert world.waits == [2, 4]


async def test_a_failure_is_told_before_the_wait() -> None:
    order: list[str] = []

    async def sleep(seconds: float) -> None:
        order.append("slept")

    async def on_failure(error: ModelError, try_no: int, retry_in_s: float | None) -> None:
        order.append("told")

    model = ScriptedModel.from_items(reply(error="unavailable"), reply())
    await complete_with_retries(model, request(), STEADY, on_failure, RetryEnvironment(sleep=sleep, now=lambda: 0.0))
    assert order == ["told", "slept"]


async def test_a_bug_is_no_failure_of_the_model() -> None:
    class Broken:
        async def request_completion(self, request: Request) -> Reply:
            raise ZeroDivisionError

        async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
            return None

    world = World()
    with pytest.raises(ZeroDivisionError):
        await complete_with_retries(Broken(), request(), STEADY, world.on_failure, world.surroundings())
    assert world.failures == []


@settings(deadline=None)
@given(
    draws=st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=40),
    base=st.floats(0, 100),
    cap=st.floats(0, 1_000),
)
def test_backoff_lies_between_zero_and_the_cap_whatever_is_drawn(draws: list[float], base: float, cap: float) -> None:
    policy = RetryPolicy(base_s=base, cap_s=cap)
    for try_no, draw in enumerate(draws, start=1):
        wait = policy.get_backoff_s(try_no, draw)
        assert 0 <= wait <= cap
        assert wait <= base * 2.0 ** (try_no - 1)


@settings(deadline=None)
@given(try_no=st.integers(1, 10**6))
def test_backoff_never_overflows(try_no: int) -> None:
    assert RetryPolicy().get_backoff_s(try_no, 0.999) <= 60


def test_only_infrastructure_errors_are_transient() -> None:
    transient = {error for error in ERROR_CLASSES.values() if error.is_transient}
    assert transient == {RateLimited, Unavailable, CallTimedOut, ReplyTooLarge}
    assert {error.exit_code for error in transient} == {75}


def test_errors_that_a_person_must_mend_say_so_by_their_exit_code() -> None:
    assert (QuotaExhausted.exit_code, CredentialsMissing.exit_code, UnknownModel.exit_code) == (6, 7, 2)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (1.25, "1.25 s"), (59.9, "59.9 s"), (60, "1 min"), (125, "2 min 5 s"), (12_000, "3 h 20 min")],
)
def test_durations_read_like_durations(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
