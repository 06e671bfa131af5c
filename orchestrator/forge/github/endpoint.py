"""The place of a repository on GitHub, with the token for it."""

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
        """Refuse a token that cannot be sent, which an HTTP library would show.

        Raises:
            EnvironmentProblem: it is none that can be sent.
        """
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            problem = "holds no token: it has spaces or characters that no token has"
            raise EnvironmentProblem(f"{self.token_variable} {problem}")

    @property
    def host(self) -> str:
        """The host of the API."""
        return urlsplit(self.url).netloc

    @property
    def owner(self) -> str:
        """The owner of the repository."""
        return self.repository.partition("/")[0]

    def redact_text(self, text: str) -> str:
        """Return foreign words in one line, without the token, whoever may have put it in there."""
        return to_one_line(text.replace(self.token, "…"), _SAID_CHARS)
