"""`extra` of a model: more parameters of its calls, checked so that they neither redirect a call nor hold a secret."""

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from orchestrator.domain.text.lazy_pattern import compile_lazily

ReasoningEffort = Literal["", "none", "minimal", "low", "medium", "high", "xhigh"]
"""How much a model is to think; empty for its provider's default."""

_OWN_SETTINGS: Mapping[str, str] = {
    "model": "model",
    "temperature": "temperature",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "timeout": "timeout_s",
    "request_timeout": "timeout_s",
    "stream_timeout": "stall_timeout_s",
    "reasoning_effort": "reasoning_effort",
    "fallbacks": "fallbacks",
    "api_base": "api_base",
    "base_url": "api_base",
    "api_key": "api_key_env",
}
"""Parameters that have a key of their own, by that key."""
_HARNESS_OWNED = frozenset(
    {"messages", "tools", "tool_choice", "functions", "function_call", "stream", "stream_options", "n", "client"}
    | {"num_retries", "max_retries", "drop_params", "modify_params", "allowed_openai_params", "model_list"}
    | {"additional_drop_params", "custom_llm_provider", "context_window_fallback_dict", "response_format"}
    | {"cache", "caching", "metadata", "callbacks", "guardrails", "prompt_id", "logger_fn", "no-log", "mcp_servers"}
    | {"acompletion", "force_timeout", "ssl_verify", "shared_session", "user_continue_message", "model_info", "id"}
    | {"merge_reasoning_content_in_choices", "preset_cache_key", "hooks", "tags", "organization", "project"}
)
"""Parameters that the harness sets itself, and such of litellm's that change what it does with a call."""
_INTERNAL = compile_lazily(r"^(_|litellm|mock_|aws_|azure_|vertex_|gcs_|s3_|watsonx_|oci_|sagemaker_|custom_|proxy_)")
_REDIRECTING = compile_lazily(
    r"(^|[_-])(url|urls|uri|base|endpoint|host|hostname|proxy|proxies|server|servers|region|bucket|webhook|callback)"
    r"([_-]|$)"
)
_HARMLESS = frozenset({"prompt_cache_key", "thinking_token_budget", "reasoning_token_budget"})
"""Names that only sound like a credential."""
_CREDENTIAL = compile_lazily(
    r"(^|[_-])(key|keys|apikey|secret|secrets|password|passwd|credential|credentials|auth|authorization|cookie|"
    r"header|headers|bearer|token|jwt|cert|certificate)([_-]|$)"
)
_MAX_DEPTH = 8
_EXTRA_BODY = "extra_body"
"""The table that litellm puts into the request as it is: the checks hold for what is in it as well."""


def check_extra_parameters(extra: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters.

    Raises:
        ValueError: one of them is the harness's own, could send the call elsewhere or carry a credential, or has a
            value that no request can hold.
    """
    for path, value in _iterate_values(extra):
        shown = ".".join(path)
        _check_name(shown, path)
        _check_value(shown, value)
    return extra


ExtraParameters = Annotated[dict[str, Any], AfterValidator(check_extra_parameters)]


def _iterate_values(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if len(above) > _MAX_DEPTH:
        raise ValueError(f"{'.'.join(above)}: tables may be {_MAX_DEPTH} deep")
    for name, value in table.items():
        yield (*above, name), value
        for number, item in enumerate(value if isinstance(value, list) else ()):
            if isinstance(item, dict):
                yield from _iterate_values(item, (*above, name, str(number)))
            else:
                yield (*above, name, str(number)), item
        if isinstance(value, dict):
            yield from _iterate_values(value, (*above, name))


def _check_name(shown: str, path: tuple[str, ...]) -> None:
    name = path[-1].lower()
    if len(path) == 1 or path[:-1] == (_EXTRA_BODY,):
        if own := _OWN_SETTINGS.get(name):
            raise ValueError(f"{shown} has a setting of its own: use `{own}` of the role")
        if name in _HARNESS_OWNED or _INTERNAL.search(name):
            raise ValueError(f"{shown} is set by Orchestrate itself and cannot be changed here")
    if _REDIRECTING.search(name):
        raise ValueError(f"{shown} could send the call to another place; that is said by `api_base` alone")
    if name not in _HARMLESS and _CREDENTIAL.search(name):
        raise ValueError(f"{shown} could carry a credential; name the variable that holds it in `api_key_env`")


def _check_value(shown: str, value: object) -> None:
    if isinstance(value, str):
        if _holds_token(value):
            raise ValueError(f"{shown} holds what looks like a secret; keys come from the environment")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{shown} is no number that a request can hold")
    elif not isinstance(value, bool | int | float | list | dict):
        raise ValueError(f"{shown}: only texts, numbers, true, false, lists and tables can be sent")


def _holds_token(value: str) -> bool:
    from orchestrator.redact.redactor import Redactor  # few configurations have parameters of their own

    return Redactor().redact_text(value) != value
