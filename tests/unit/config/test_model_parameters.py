"""`extra`, `reasoning_effort` and the window of models: what is taken, what is refused, what goes to whom."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.layers import load_config
from orchestrator.config.model import Config
from orchestrator.config.roles import ModelSettings
from orchestrator.errors import UsageProblem
from orchestrator.llm.model_limits import find_context_tokens


def load(roles: dict[str, Any], repository: Path | None = None) -> Config:
    return load_config(repository, {"roles": roles}, environ={}).config


def worker(**changes: Any) -> ModelSettings:
    return load({"worker": changes}).roles.worker


def test_parameters_of_a_provider_are_taken_as_they_are() -> None:
    extra = {"thinking": {"type": "enabled", "budget_tokens": 4_096}, "top_k": 40, "prompt_cache_key": "a"}
    assert worker(extra=extra, reasoning_effort="high").build_request_fields()["extra"] == extra


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"model": "x"}, "model has a setting of its own"),
        ({"max_tokens": 5}, "use `max_output_tokens` of the role"),
        ({"messages": []}, "messages is set by Orchestrate itself"),
        ({"litellm_params": {}}, "is set by Orchestrate itself"),
        ({"extra_body": {"tools": []}}, "extra_body.tools is set by Orchestrate itself"),
        ({"extra_body": {"base_url": "http://x"}}, "use `api_base` of the role"),
        ({"provider": {"endpoint": "http://x"}}, "could send the call to another place"),
        ({"extra_headers": {"x": "y"}}, "could carry a credential"),
        ({"a": [{"auth_token": "y"}]}, "a.0.auth_token could carry a credential"),
        ({"user": "ghp_" + "a1B2c3D4e5" * 4}, "holds what looks like a secret"),
        ({"top_p": float("nan")}, "is no number"),
    ],
)
def test_a_parameter_that_redirects_a_call_or_is_ours_is_refused(extra: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        worker(extra=extra)


def test_an_effort_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageProblem, match="reasoning_effort"):
        worker(reasoning_effort="huge")


@pytest.mark.parametrize("line", ['reasoning_effort = "high"', "extra = { top_p = 0.5 }"])
def test_a_repository_does_not_set_them(tmp_path: Path, line: str) -> None:
    (tmp_path / "orchestrate.toml").write_text(f"[roles.worker]\n{line}\n")
    with pytest.raises(UsageProblem, match="may not be set by the repository being worked on"):
        load_config(tmp_path, environ={})


def test_parameters_do_not_go_to_another_model_and_the_effort_does() -> None:
    own = {"model": "openai/a", "extra": {"top_p": 0.5}, "reasoning_effort": "low"}
    roles = load(
        {
            "worker": {**own, "fallbacks": ["openai/b"], "variants": {"same": {}, "other": {"model": "openai/b"}}},
            "judge": {**own, "lenses": {"code": {"model": "openai/b"}}},
        }
    ).roles
    fallback = roles.worker.list_fallback_chain()[1]
    lens = roles.judge.get_lens_settings("code")
    others = [fallback, roles.worker.get_variant("other"), lens]
    assert [(one.extra, one.reasoning_effort) for one in others] == [({}, "low")] * 3
    assert roles.worker.get_variant("same").extra == {"top_p": 0.5}
    assert roles.get_arbiter_settings().extra == {"top_p": 0.5}


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({"model": "anthropic/claude-sonnet-4-5"}, 200_000),
        ({"model": "anthropic/claude-sonnet-4-5", "context_tokens": 50_000}, 50_000),
        ({"model": "anthropic/claude-sonnet-4-5", "fallbacks": ["openai/nobody-knows"]}, 128_000),
        ({"model": "scripted:goal.toml"}, 128_000),
    ],
)
def test_the_window_is_the_configured_one_or_the_smallest_that_is_known(settings: dict[str, Any], tokens: int) -> None:
    assert find_context_tokens(worker(**settings)) == tokens


def test_a_window_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageProblem, match="at least 4000"):
        worker(context_tokens=100)
