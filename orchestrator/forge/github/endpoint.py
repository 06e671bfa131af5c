"""Where a repository is on GitHub, and what opens it."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem

_SAID_CHARS = 500


@dataclass(frozen=True)
class RepositoryEndpoint:
    """One repository, with the token for it.

    Attributes:
        url: of the API, such as `https://api.github.com`.
        repository: `owner/name`.
        token: never told to anybody but that API.
        variable: of the environment, that the token is from; messages name it instead.
    """

    url: str
    repository: str
    token: str = field(repr=False)
    token_variable: str

    def __post_init__(self) -> None:
        """An HTTP library would show a token that it cannot send.

        Raises:
            EnvironmentProblem: it is none that can be sent.
        """
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            raise EnvironmentProblem(
                f"{self.token_variable} holds no token: it has spaces or characters that no token has"
            )

    @property
    def host(self) -> str:
        """Who is talked to."""
        return urlsplit(self.url).netloc

    @property
    def owner(self) -> str:
        """Whose repository it is."""
        return self.repository.partition("/")[0]

    def redact_text(self, text: str) -> str:
        """Foreign words in one line, without the token whoever may have put it in there."""
        return to_one_line(text.replace(self.token, "…"), _SAID_CHARS)
