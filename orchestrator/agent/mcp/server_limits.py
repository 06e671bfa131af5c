"""The bounds of what one server may say, and the names of its failures."""

from orchestrator.config.mcp import McpServerSettings
from orchestrator.domain.mcp.tool_definition import ServerFailure

MAX_STARTS = 4
"""The times that a server is started in one conversation: one that floods or hangs is ended, and started again."""
MAX_TOOLS = 100
"""The tools that a server may have, whichever of them are allowed."""
MAX_REQUESTS = 50
"""The wishes of a server (for a model's reply, a person's answer, folders) that are refused before it is ended."""
_MESSAGE_OVERHEAD = 1024 * 1024
_BYTES_PER_CHARACTER = 4


class ServerProblem(Exception):
    """A server gave no answer. `failure` says in which way, the words are for people and models."""

    def __init__(self, failure: ServerFailure, text: str) -> None:
        super().__init__(text)
        self.failure = failure


class SpeechMeter:
    """The bytes and wishes of a server while it owes one answer."""

    def __init__(self, settings: McpServerSettings) -> None:
        self._limit = settings.output_chars * _BYTES_PER_CHARACTER + _MESSAGE_OVERHEAD
        self._bytes = 0
        self.requests = 0
        """The requests that it has made of its client since it was started."""
        self.problem: ServerProblem | None = None
        """The reason that it is not listened to any more."""

    def begin_answer(self) -> None:
        """Count from the beginning: it owes a new answer."""
        self._bytes = 0

    def count_bytes(self, count: int) -> None:
        """Count what was read.

        Raises:
            ServerProblem: it is more than any answer may have.
        """
        self._bytes += count
        if self._bytes > self._limit:
            self._fail(ServerFailure.FLOODED, f"it sent more than {self._limit // 1024:,} KiB for one answer")

    def count_request(self) -> None:
        """Count a request that the server makes of its client; all of them are refused.

        Raises:
            ServerProblem: it goes on asking.
        """
        self.requests += 1
        if self.requests > MAX_REQUESTS:
            self._fail(ServerFailure.FLOODED, f"it asked for something more than {MAX_REQUESTS} times")

    def note_end(self) -> None:
        """Note that the server has ended by itself."""
        if self.problem is None:
            self.problem = ServerProblem(ServerFailure.GONE, "it has ended")

    def _fail(self, failure: ServerFailure, text: str) -> None:
        if self.problem is None:
            self.problem = ServerProblem(failure, text)
        raise self.problem
