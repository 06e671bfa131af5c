"""The size of a conversation in tokens, by what its provider counted for its requests.

A provider counts tokens; the harness knows characters. The latest count holds as it is, with the tools on offer and
all else that is no character here. What has been added since is measured by what growth cost before. All of it comes
from the journal, so a resumed session measures the same.
"""

from typing import NamedTuple

from orchestrator.domain.budget.usage import Usage

CHARS_PER_TOKEN = 4
"""A rough measure, until a provider has counted: code can need a third more tokens than that."""
_LEAST_CHARS_PER_TOKEN = 1.0
_MOST_CHARS_PER_TOKEN = 6.0
_TOOL_TOKENS = 30_000
"""More than the descriptions of all tools need: a count so far above the characters is no count of this request."""
_LEAST_GROWTH_CHARS = 1_000
"""A conversation that grew by less tells nothing of what growth costs."""


class _Count(NamedTuple):
    """The size of one request: characters of its words, and tokens as counted."""

    chars: int
    tokens: int


class ContextMeter:
    """Learns from the counts of a session's requests how many tokens its words take.

    `tool_chars` is the size of the tools on offer, which every count holds beside words. Until a conversation has grown
    they are taken by the rough measure.
    """

    def __init__(self, tool_chars: int = 0) -> None:
        self._tool_tokens = tool_chars / CHARS_PER_TOKEN
        self._first: _Count | None = None
        self._latest: _Count | None = None
        self._chars_per_token: float = CHARS_PER_TOKEN

    @property
    def chars_per_token(self) -> float:
        """Characters of words that make a token; the rough measure before the first count."""
        return self._chars_per_token

    @property
    def tool_tokens(self) -> float:
        """The part of the latest count that is taken to be tools; 0 before the first."""
        return self._tool_tokens if self._latest else 0

    def record_request(self, chars: int, usage: Usage) -> None:
        """Take in what was counted for a request of so many characters; a count that cannot be of it is ignored."""
        tokens = usage.input_tokens
        if not tokens or not chars / 8 <= tokens <= 2 * chars + _TOOL_TOKENS:
            return
        self._latest = _Count(chars, tokens)
        if self._first is None:
            self._first = self._latest
            self._set_density(chars, tokens - self._tool_tokens)
        elif chars - self._first.chars >= _LEAST_GROWTH_CHARS:
            self._set_density(chars - self._first.chars, tokens - self._first.tokens)

    def count_tokens(self, chars: int) -> float:
        """Return how many tokens a request takes whose words have so many characters."""
        if self._latest is None:
            return self.measure_words(chars)
        tokens = self._latest.tokens + self.measure_words(chars - self._latest.chars)
        return max(tokens, chars / _MOST_CHARS_PER_TOKEN)

    def measure_words(self, chars: int) -> float:
        """Return how many tokens so many characters take that are a part of a request."""
        return chars / self._chars_per_token

    def _set_density(self, chars: int, tokens: float) -> None:
        """Take words to be as dense as so many characters of so many tokens, rather denser than looser."""
        if tokens > 0:
            self._chars_per_token = min(max(chars / tokens, _LEAST_CHARS_PER_TOKEN), _MOST_CHARS_PER_TOKEN)
