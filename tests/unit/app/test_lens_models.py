"""Models that lenses name: checked, kept to their limits and kept secret like those of the roles."""

from pathlib import Path
from typing import Any

from orchestrator.config.layers import load_config
from orchestrator.config.model import Config
from orchestrator.domain.chat import Message, Request
from orchestrator.domain.ids import TaskId, build_review_session_id
from orchestrator.domain.run.state import RunState
from orchestrator.project.options import build_provider_rules, resolve_script_paths
from orchestrator.project.secrets import build_redactor
from orchestrator.replay.comparison.requests import get_model_settings
from roles.configured_models import iterate_configured_models


def config(**lenses: dict[str, Any]) -> Config:
    judge = {"model": "openai/usual", "fallbacks": ["mistral/spare"], "lenses": lenses}
    return load_config(None, {"roles": {"judge": judge}}, environ={}).config


def test_a_lens_with_a_model_of_its_own_is_looked_at_with_its_fallbacks_and_one_without_is_not() -> None:
    found = config(code={"model": "gemini/x"}, strict={"view": "codebase", "max_turns": 2})
    named = {
        name: settings.model for name, settings in iterate_configured_models(found.roles) if name.startswith("judge")
    }
    assert named == {
        "judge": "openai/usual",
        "judge.fallbacks[0]": "mistral/spare",
        "judge.lenses.code": "gemini/x",
        "judge.lenses.code.fallbacks[0]": "mistral/spare",
    }


def test_a_share_for_the_judge_is_kept_wherever_a_lens_is_asked() -> None:
    lenses: dict[str, dict[str, Any]] = {
        "code": {"model": "gemini/x", "fallbacks": []},
        "off": {"view": "diff", "when": "never", "model": "groq/x"},
    }
    assert build_provider_rules(config(**lenses)).judge_keys == {"openai", "mistral", "gemini"}


def test_the_key_of_a_lens_is_a_secret_and_its_script_is_found_from_anywhere(tmp_path: Path) -> None:
    found = resolve_script_paths(config(code={"model": "scripted:here.json", "api_key_env": "ODD_NAME"}))
    assert found.roles.judge.get_lens_settings("code").model == f"scripted:{Path.cwd() / 'here.json'}"
    secret = "a-key-that-nothing-else-tells"
    assert secret not in build_redactor(found, {"ODD_NAME": secret}, tmp_path).redact_text(f"it is {secret}")


def test_a_replay_knows_the_lens_that_a_session_is_with() -> None:
    found = config(code={"model": "gemini/x"})

    def model(lens: str) -> str:
        session = build_review_session_id(TaskId("reporting/csv"), 2, lens)
        message = Message(role="user", text="?")
        request = Request(
            role="judge", task=TaskId("reporting/csv"), session=session, turn=0, model="m", messages=(message,)
        )
        return get_model_settings(found, RunState(), request).model

    assert [model("diff"), model("code"), model("gone")] == ["openai/usual", "gemini/x", "openai/usual"]
