"""Another model is asked while the usual one cannot be, and a person is told."""

from collections import Counter
from collections.abc import Mapping

import pytest

from orchestrator.config.model import ProviderSettings
from orchestrator.domain.chat import Reply, Request
from orchestrator.errors import OrchestrateError, ProviderDown
from orchestrator.llm.errors import (
    ContextOverflow,
    CredentialsMissing,
    ModelError,
    QuotaExhausted,
    RateLimited,
    Unavailable,
)
from orchestrator.llm.retry import ModelCallPolicy, RetryPolicy, complete_with_fallbacks
from orchestrator.llm.throttling.providers import ProviderRegistry, ProviderRules
from tests.loopback.builders import request

DAYS = 3 * 86_400.0
USUAL, SPARE, LAST = "openai/usual", "anthropic/spare", "mistral/last"


class World:
    """Models that always do the same, and what was asked of them."""

    def __init__(self, says: Mapping[str, ModelError], **rules: object) -> None:
        self.says = dict(says)
        self.asked: Counter[str] = Counter()
        self.answers: list[tuple[str, str]] = []
        self.failures: list[str] = []
        found = {"breaker_pause_s": 0.05, "breaker_failures": 9} | rules
        policy = RetryPolicy(tries=3, base_s=0, cap_s=0)
        self.asking = ModelCallPolicy(
            ProviderRegistry(ProviderRules.model_validate(found)), policy, self.failed, self.answered
        )

    async def ask(self, *models: str) -> str:
        requests = [request(model=model) for model in models or (USUAL, SPARE, LAST)]
        return (await complete_with_fallbacks(self, requests, self.asking)).model

    async def request_completion(self, request: Request) -> Reply:
        self.asked[request.model] += 1
        if request.model in self.says:
            raise self.says[request.model]
        return Reply(model=request.model)

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        return None

    async def failed(self, error: ModelError, try_no: int, retry_in_s: float | None) -> None:
        self.failures.append(error.code)

    async def answered(self, usual: Request, answering: Request, why: OrchestrateError | None) -> None:
        assert usual.model == USUAL
        self.answers.append((answering.model, str(why) if why else ""))


@pytest.mark.parametrize(
    "error",
    [
        QuotaExhausted("no credit left"),
        CredentialsMissing("wrong key"),
        RateLimited("come back on Monday", DAYS),
    ],
    ids=lambda error: error.code,
)
async def test_a_provider_that_is_closed_is_asked_once_and_then_passed_over(error: ModelError) -> None:
    world = World({USUAL: error})
    assert [await world.ask() for _ in range(5)] == [SPARE] * 5
    assert world.asked == {USUAL: 1, SPARE: 5}
    assert all(model == SPARE and why for model, why in world.answers)
    assert str(error) in world.answers[0][1]


async def test_a_provider_that_does_not_answer_is_tried_by_one_call_in_a_while() -> None:
    world = World({USUAL: Unavailable("down")}, breaker_failures=3, breaker_pause_s=3_600)
    assert [await world.ask() for _ in range(5)] == [SPARE] * 5
    assert world.asked == {USUAL: 3, SPARE: 5}


async def test_the_usual_model_is_asked_again_when_it_can_be() -> None:
    world = World({USUAL: Unavailable("down")}, breaker_failures=1, breaker_pause_s=0.001)
    assert await world.ask() == SPARE
    world.says.clear()
    await world.asking.environment.sleep(0.01)
    assert await world.ask() == USUAL
    assert world.answers[-1] == (USUAL, "")


async def test_a_fallback_that_draws_on_the_used_up_quota_is_passed_over_without_a_call() -> None:
    pools = {"anthropic": ProviderSettings(pool="openai")}
    world = World({USUAL: QuotaExhausted("no credit left")}, by_key=pools)
    assert await world.ask() == LAST
    assert world.asked == {USUAL: 1, LAST: 1}


async def test_a_request_that_is_at_fault_itself_is_shown_to_nobody_else() -> None:
    world = World({USUAL: ContextOverflow("too long")})
    with pytest.raises(ContextOverflow):
        await world.ask()
    assert world.asked == {USUAL: 1}


async def test_a_model_without_fallbacks_fails_as_it_did() -> None:
    world = World({USUAL: QuotaExhausted("no credit left")})
    with pytest.raises(QuotaExhausted, match=r"^no credit left$"):
        await world.ask(USUAL)


async def test_when_nobody_can_be_asked_all_reasons_are_told_and_what_passes_by_itself_decides() -> None:
    says = {
        USUAL: CredentialsMissing("usual: wrong key"),
        SPARE: QuotaExhausted("spare: no credit left"),
        LAST: Unavailable("last: down"),
    }
    world = World(says)
    with pytest.raises(ProviderDown, match=r"usual: wrong key; spare: no credit left; .*last: down") as failure:
        await world.ask()
    assert failure.value.exit_code == 75
    assert world.asked == {USUAL: 1, SPARE: 1, LAST: 3}


async def test_a_provider_left_alone_for_a_moment_is_waited_for_if_nobody_else_can_be_asked() -> None:
    world = World({USUAL: Unavailable("down"), SPARE: QuotaExhausted("no credit left")}, breaker_failures=3)
    with pytest.raises(ProviderDown):
        await world.ask(USUAL, SPARE)
    world.says.pop(USUAL)
    assert await world.ask(USUAL, SPARE) == USUAL
    assert world.asked == {USUAL: 4, SPARE: 1}
