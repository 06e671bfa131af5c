"""The router sends each model name to what it stands for, and sets nothing up before it is needed."""

from decimal import Decimal
from pathlib import Path

import pytest

from orchestrator.domain.budget.price import FREE_PRICE, Price
from orchestrator.domain.ids import TaskId
from orchestrator.errors import UsageProblem
from orchestrator.llm.litellm_adapter.client import LiteLLMClient
from orchestrator.llm.router import ModelRouter
from tests.loopback.builders import reply, request
from tests.loopback.server import LoopbackServer

PLAY = """
schema = 1
[[reply]]
role = "worker"
task = "*"
text = "{name} 1"
[[reply]]
role = "worker"
task = "*"
text = "{name} 2"
"""


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        (tmp_path / f"{name}.toml").write_text(PLAY.format(name=name))
    return tmp_path


def no_client() -> LiteLLMClient:
    raise AssertionError("litellm is not needed here")


async def test_every_script_file_is_played_by_a_model_of_its_own(plays: Path) -> None:
    async with ModelRouter(plays, connect=no_client) as router:
        texts = [
            (await router.request_completion(request(model=f"scripted:{name}.toml"))).text
            for name in ("one", "two", "one")
        ]
        assert texts == ["one 1", "two 1", "one 2"]
        assert router.get_scripted_model("scripted:one.toml").count_remaining() == {}
        assert router.get_scripted_model("scripted:two.toml").count_remaining() == {("worker", "api"): 1}


async def test_an_absolute_script_path_is_taken_as_it_is(plays: Path) -> None:
    router = ModelRouter(Path("elsewhere"), connect=no_client)
    assert (await router.request_completion(request(model=f"scripted:{plays / 'two.toml'}"))).text == "two 1"


async def test_replies_that_earlier_processes_used_are_skipped_per_model(plays: Path) -> None:
    consumed = {"scripted:one.toml": {("worker", TaskId("api")): 1}}
    router = ModelRouter(plays, consumed, no_client)
    assert (await router.request_completion(request(model="scripted:one.toml"))).text == "one 2"
    assert (await router.request_completion(request(model="scripted:two.toml"))).text == "two 1"


async def test_a_bad_script_is_found_by_checking_and_by_using_it(plays: Path) -> None:
    (plays / "bad.toml").write_text("schema = 1\nfoo = 2\n")
    router = ModelRouter(plays, connect=no_client)
    assert await router.find_model_problem("scripted:one.toml", None, None) is None
    assert "foo: unknown key" in (await router.find_model_problem("scripted:bad.toml", None, None) or "")
    assert "cannot read the script" in (await router.find_model_problem("scripted:gone.toml", None, None) or "")
    with pytest.raises(UsageProblem, match="unknown key"):
        await router.request_completion(request(model="scripted:bad.toml"))


async def test_the_price_is_known_of_scripts_that_claim_none_and_of_configured_models(plays: Path) -> None:
    own = Price(input_usd=Decimal(1), output_usd=Decimal(2))
    claims = PLAY.format(name="claims").replace("text =", "cost_usd = 0.5\ntext =")
    (plays / "claims.toml").write_text(claims)
    async with ModelRouter(plays, connect=lambda: LiteLLMClient({"openai/worker": own})) as router:
        assert await router.find_price("scripted:one.toml") == FREE_PRICE
        assert await router.find_price("scripted:claims.toml") is None
        assert await router.find_price("openai/worker") == own


async def test_every_other_model_goes_to_litellm(tmp_path: Path) -> None:
    async with LoopbackServer([reply("Hello.")]).run() as url, ModelRouter(tmp_path) as router:
        assert (await router.request_completion(request(api_base=url))).text == "Hello."
        assert await router.find_model_problem("openai/worker", url, None) is None
        assert "no such provider" in (await router.find_model_problem("nobody/worker", None, None) or "")
