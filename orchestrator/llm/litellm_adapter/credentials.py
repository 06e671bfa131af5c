"""Facts about a model's name and key that need no call."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from orchestrator.domain.text.suggestions import find_similar_names
from orchestrator.llm.errors import CredentialsMissing
from orchestrator.llm.litellm_adapter.installed_models import find_listed_provider

PLACEHOLDER_KEY = "none"
"""Sent to OpenAI-compatible servers that no key is configured for, so that the user's OpenAI key does not go there."""

LOCAL_PROVIDERS = frozenset({"ollama", "ollama_chat", "lemonade", "llamafile", "lm_studio"})
SIGN_IN_PROVIDERS = frozenset({"github_copilot", "chatgpt"})
"""Their keys come from signing in; litellm would begin that when asked about them."""

UNBOUNDED_PROVIDERS = frozenset({"aiohttp_openai"})
"""Asked past the transports in which replies are bounded."""

AWS_PROVIDERS = frozenset({"bedrock", "bedrock_converse", "sagemaker", "sagemaker_chat"})
EITHER_KEY_PROVIDERS = frozenset({"gemini"})

KEY_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "gemini": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "novita": ("NOVITA_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITYAI_API_KEY",),
    "together_ai": ("TOGETHERAI_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""Provider → the variables of which one has to hold a key; those of other providers litellm is asked for."""


@dataclass(frozen=True)
class CredentialCheck:
    """The answer to a check: the problem in a sentence, or None."""

    problem: str | None = None


def read_api_key(model: str, api_base: str | None, api_key_env: str | None) -> str | None:
    """Return the key to pass; None leaves it to the provider's usual variables.

    Raises:
        CredentialsMissing: the variable that should hold it is not set.
    """
    if api_key_env is not None:
        key = os.environ.get(api_key_env, "").strip()
        if not key:
            raise CredentialsMissing(f"{model}: the environment variable {api_key_env} is not set; set it to the key")
        return key
    if api_base and is_third_party_endpoint(model, api_base):
        return PLACEHOLDER_KEY
    return None


def find_unbounded_problem(model: str) -> str | None:
    """Return what is wrong with a model whose replies nothing bounds; None if it is none of those."""
    provider, _, name = model.partition("/")
    if provider not in UNBOUNDED_PROVIDERS:
        return None
    return f"{model}: the size of this provider's replies cannot be bounded; write it as 'openai/{name}'"


def is_third_party_endpoint(model: str, api_base: str) -> bool:
    """Return True if a model that would get OpenAI's key, by prefix or for want of one, is served by somebody else."""
    host = urlsplit(api_base if "://" in api_base else f"//{api_base}").hostname or ""
    is_openai = model.startswith("openai/") or "/" not in model
    return is_openai and host != "openai.com" and not host.endswith(".openai.com")


def check_credentials(model: str, api_base: str | None, api_key_env: str | None) -> CredentialCheck | None:
    """Return what can be said of a model's credentials without litellm; None where only litellm can tell. Blocks."""
    prefix, slash, _ = model.partition("/")
    if prefix in SIGN_IN_PROVIDERS:
        return CredentialCheck()
    if unbounded := find_unbounded_problem(model):
        return CredentialCheck(unbounded)
    provider = prefix if slash else find_listed_provider(model)
    if provider not in KEY_VARIABLES and not (slash and provider in LOCAL_PROVIDERS):
        return None
    try:
        has_key = read_api_key(model, api_base, api_key_env) is not None
    except CredentialsMissing as problem:
        return CredentialCheck(str(problem))
    names = KEY_VARIABLES.get(provider, ())
    if has_key or not names or any(os.environ.get(name, "").strip() for name in names):
        return CredentialCheck()
    shown = names if provider in EITHER_KEY_PROVIDERS else names[:1]
    return CredentialCheck(_describe_missing_keys(model, " or ".join(shown), len(shown)))


def _describe_missing_keys(model: str, names: str, count: int) -> str:
    return f"{model}: no credentials; set the environment variable{'s' if count > 1 else ''} {names}"


def find_credential_problem(litellm: Any, model: str, api_base: str | None, api_key_env: str | None) -> str | None:  # noqa: ANN401
    """Return what is wrong, in a sentence that names the variable to set; None when nothing is seen."""
    if model.split("/", 1)[0] in SIGN_IN_PROVIDERS:
        return None
    if unbounded := find_unbounded_problem(model):
        return unbounded
    try:
        key = read_api_key(model, api_base, api_key_env)
        provider = litellm.get_llm_provider(model=model, api_base=api_base)[1]
    except CredentialsMissing as problem:
        return str(problem)
    except litellm.exceptions.BadRequestError:
        return f"{model}: no such provider or model; {_suggestion(litellm, model)}"
    if provider in LOCAL_PROVIDERS or (provider in AWS_PROVIDERS and (Path.home() / ".aws").exists()):
        return None
    found = litellm.validate_environment(model=model, api_key=key, api_base=api_base)
    missing = () if found["keys_in_environment"] else tuple(found["missing_keys"])
    if not missing:
        return None
    names = (" or " if provider in EITHER_KEY_PROVIDERS else " and ").join(missing)
    return _describe_missing_keys(model, names, len(missing))


def describe_key_variable(model: str, api_key_env: str | None) -> str:
    """Return what to set when the key is the trouble."""
    if api_key_env:
        return api_key_env
    usual = get_key_variable(model) or "the provider's variables"
    return f"{usual}, or name another variable in the model's `api_key_env`"


def get_key_variable(model: str) -> str:
    """Return the variable that usually holds the key of a model's provider; empty unless there is exactly one."""
    prefix, slash, _ = model.partition("/")
    is_usual = slash and prefix.isidentifier() and not prefix.startswith("vertex_ai")
    known = LOCAL_PROVIDERS | SIGN_IN_PROVIDERS | AWS_PROVIDERS
    if is_usual and prefix not in known:
        return f"{prefix.upper()}_API_KEY"
    return ""


def _suggestion(litellm: Any, model: str) -> str:  # noqa: ANN401
    prefix, slash, rest = model.partition("/")
    if slash:
        known = [getattr(name, "value", name) for name in litellm.provider_list]
    else:
        known = list(litellm.model_cost)
    close = find_similar_names(prefix, known, limit=1)
    if close:
        return f"did you mean {close[0] + slash + rest!r}?"
    return "write it as provider/model, as in 'openai/gpt-4o'"
