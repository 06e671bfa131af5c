"""The window of a model where the configuration is silent: by the list that litellm ships, without importing it."""

from functools import cache

from orchestrator.config.roles import DEFAULT_CONTEXT_TOKENS, ModelSettings
from orchestrator.llm.litellm_adapter.pricing import find_installed_entry
from orchestrator.llm.scripted_model.script import SCRIPTED_PREFIX


def find_context_tokens(settings: ModelSettings) -> int:
    """Return the tokens that a conversation with a role's model may take; reads litellm's list once. Blocks.

    What is configured holds. Else it is the smallest window of the model and its fallbacks, any of which may have to
    go on with the conversation.
    """
    if settings.context_tokens:
        return settings.context_tokens
    return min(_find_window(one.model) for one in settings.list_fallback_chain())


@cache
def _find_window(model: str) -> int:
    if model.startswith(SCRIPTED_PREFIX):
        return DEFAULT_CONTEXT_TOKENS
    entry = find_installed_entry(model) or {}
    for name in ("max_input_tokens", "max_tokens"):
        tokens = entry.get(name)
        if isinstance(tokens, int) and tokens > 0:
            return tokens
    return DEFAULT_CONTEXT_TOKENS
