"""Which thinking of earlier replies a provider has to get back, as the providers publish it; told by a model's name."""

from collections.abc import Iterable
from enum import IntEnum


class ReasoningRule(IntEnum):
    """The thinking that has to go back, from the mildest rule to the strictest."""

    OPTIONAL = 0
    """None has to: servers that ignore it, or take it where they get it."""
    OPEN_LOOP = 1
    """That of every reply since the last one without a tool call, signed and unchanged."""
    ALL = 2
    """That of every reply that called a tool."""


_ALL_FAMILIES = ("deepseek", "moonshot", "kimi")
"""Who refuses a conversation in which one reply lacks its thinking, wherever their models are served."""
_SIGNING_PROVIDERS = frozenset(
    {"anthropic", "bedrock", "vertex_ai", "vertex_ai_beta", "gemini", "openrouter", "azure_ai", "databricks"}
)
_SIGNING_FAMILIES = ("claude", "gemini", "/responses/", "/gpt-5", "codex")


def find_reasoning_rule(model: str) -> ReasoningRule:
    """Return the rule of a model's provider."""
    name = model.lower()
    if needs_reasoning_text(name):
        return ReasoningRule.ALL
    if name.partition("/")[0] in _SIGNING_PROVIDERS or any(family in name for family in _SIGNING_FAMILIES):
        return ReasoningRule.OPEN_LOOP
    return ReasoningRule.OPTIONAL


def find_strictest_rule(models: Iterable[str]) -> ReasoningRule:
    """Return the rule that a conversation keeps which any of these models may have to go on with."""
    return max(map(find_reasoning_rule, models), default=ReasoningRule.OPTIONAL)


def needs_reasoning_text(model: str) -> bool:
    """Return True if each reply with a tool call has to hold `reasoning_content`, an empty one too."""
    return any(family in model.lower() for family in _ALL_FAMILIES)
