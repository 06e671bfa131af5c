"""The size of a conversation in tokens, by what its provider counted for the latest request.

A provider counts tokens; the harness knows characters. Their ratio in the latest request that was counted holds for
what has been added since. All of it comes from the journal, so a resumed session measures the same.
"""

from orchestrator.domain.budget.usage import Usage

CHARS_PER_TOKEN = 4
"""A rough measure, until a provider has counted: code can need a third more tokens than that."""
_LEAST_CHARS_PER_TOKEN = 1.5
"""The tools on offer count as tokens and are no characters here: in a short conversation the ratio would be absurd."""
_MOST_CHARS_PER_TOKEN = 6.0
_TOOL_TOKENS = 30_000
"""More than the descriptions of all tools need: a count so far above the characters is no count of this request."""


class ContextMeter:
    """Learns from the counts of a session's requests how many characters make a token."""

    def __init__(self) -> None:
        self._chars_per_token: float = CHARS_PER_TOKEN

    @property
    def chars_per_token(self) -> float:
        """Characters that make a token, as counted for the latest request; the rough measure before the first."""
        return self._chars_per_token

    def record_request(self, chars: int, usage: Usage) -> None:
        """Take in what was counted for a request of so many characters; a count that cannot be of it is ignored."""
        tokens = usage.input_tokens
        if not tokens or not chars / 8 <= tokens <= 2 * chars + _TOOL_TOKENS:
            return
        self._chars_per_token = min(max(chars / tokens, _LEAST_CHARS_PER_TOKEN), _MOST_CHARS_PER_TOKEN)

    def count_tokens(self, chars: int) -> float:
        """Return how many tokens a conversation of so many characters takes."""
        return chars / self._chars_per_token
