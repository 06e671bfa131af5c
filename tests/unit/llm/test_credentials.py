"""Keys and prices told without litellm are those that litellm tells."""

import os
from typing import Any

import pytest

from orchestrator.llm.litellm_adapter import client
from orchestrator.llm.litellm_adapter.credentials import (
    EITHER_KEY_PROVIDERS,
    KEY_VARIABLES,
    CredentialCheck,
    check_credentials,
    find_credential_problem,
)
from orchestrator.llm.litellm_adapter.installed_models import load_model_entries
from orchestrator.llm.litellm_adapter.pricing import find_installed_price, find_listed_price


@pytest.fixture(scope="module")
def litellm() -> Any:
    return client.load_litellm()


@pytest.mark.parametrize("provider", KEY_VARIABLES)
def test_a_provider_of_the_table_needs_what_litellm_says_it_needs(
    monkeypatch: pytest.MonkeyPatch, litellm: Any, provider: str
) -> None:
    for name in os.environ:
        if name.endswith(("_API_KEY", "_AUTH_TOKEN")):
            monkeypatch.delenv(name)
    model = f"{provider}/some-model"
    problem = find_credential_problem(litellm, model, None, None)
    assert problem
    assert check_credentials(model, None, None) == CredentialCheck(problem)
    for name in KEY_VARIABLES[provider]:
        with monkeypatch.context() as patch:
            patch.setenv(name, "sk-test")
            assert find_credential_problem(litellm, model, None, None) is None
            assert check_credentials(model, None, None) == CredentialCheck()
    assert KEY_VARIABLES.keys() >= EITHER_KEY_PROVIDERS


def test_a_key_of_blanks_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " ")
    found = check_credentials("openai/gpt-5-mini", None, None)
    assert found is not None
    assert "set the environment variable OPENAI_API_KEY" in str(found.problem)


@pytest.mark.parametrize("model", ["bedrock/x", "azure/x", "nobody/knows", "zzz", "vertex_ai/gemini-2.5-pro"])
def test_litellm_is_asked_for_the_others(model: str) -> None:
    assert check_credentials(model, None, None) is None


def test_prices_are_those_of_litellm_for_every_model_of_the_table(litellm: Any) -> None:
    compared = 0
    for name, entry in load_model_entries().items():
        provider = entry.get("litellm_provider")
        if provider not in KEY_VARIABLES or entry.get("mode") != "chat":
            continue
        model = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        assert find_installed_price(model) == find_listed_price(litellm, model), model
        compared += 1
    assert compared > 200
    assert find_installed_price("gpt-5-mini") == find_listed_price(litellm, "gpt-5-mini") is not None
    assert find_installed_price("openai/nobody-knows-this") is None
