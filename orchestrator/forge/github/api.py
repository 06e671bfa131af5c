"""GitHub's REST API about one repository: what is asked for as types, as patiently as it takes."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from pydantic import BaseModel, TypeAdapter, ValidationError

from orchestrator.errors import EnvironmentProblem, ProviderDown
from orchestrator.forge.github import http_client
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.github.http_client import HttpResponse, UnknownOutcome
from orchestrator.forge.github.responses import parse_error_message
from orchestrator.forge.github.retry import GitHubRetryPolicy, RetryAdvice, find_retry_advice

_PER_PAGE = 100
_PAGES = 10
_WORTH_TELLING_S = 10.0
_Model = TypeVar("_Model", bound=BaseModel)
_T = TypeVar("_T")


async def _ignore_wait(_: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class GitHubApi:
    """Requests about one repository; paths are below it, such as `/pulls/1`. All methods raise:

    Refused: GitHub understands the request and does not do it (405, 409, 422).
    EnvironmentProblem: the token or the repository does not do, or this is no GitHub.
    ProviderDown: it stays down, or limits for too long.
    """

    connection: http_client.GitHubConnection
    endpoint: RepositoryEndpoint
    patience: GitHubRetryPolicy
    tell: Callable[[str], Awaitable[None]]

    async def read_object(self, model: type[_Model], path: str) -> _Model:
        """Return one thing; an empty path is the repository itself."""
        return self._parse(TypeAdapter(model), await self.send_request("GET", path))

    async def list_objects(self, model: type[_Model], path: str, within: str = "", **query: str) -> list[_Model]:
        """Return all of a list, which may stand under a key of its own; a list of too many pages is a problem."""
        items: TypeAdapter[list[_Model]] = TypeAdapter(list[model])  # type: ignore[valid-type]
        found: list[_Model] = []
        for page in range(1, _PAGES + 1):
            reply = await self.send_request("GET", path, query={**query, "per_page": str(_PER_PAGE), "page": str(page)})
            entries = self._parse(items, reply, within)
            found += entries
            if not reply.has_next_page:
                return found
        problem = f"{self.endpoint.repository}{path} has more than {_PAGES * _PER_PAGE} entries"
        raise EnvironmentProblem(f"{problem}, which is too long to read")

    async def create_object(self, model: type[_Model], path: str, body: Mapping[str, Any]) -> _Model:
        """Have something made that must not be made twice.

        Raises:
            Lost: it may have been made.
        """
        return self._parse(TypeAdapter(model), await self.send_request("POST", path, body, is_once=True))

    async def update_object(self, model: type[_Model], method: str, path: str, body: Mapping[str, Any]) -> _Model:
        """Have something be so; done twice it is the same as once."""
        return self._parse(TypeAdapter(model), await self.send_request(method, path, body))

    async def find_or_create(
        self, find: Callable[[], Awaitable[_Model | None]], make: Callable[[], Awaitable[_Model]]
    ) -> _Model:
        """Return what `find` finds, else what `create` makes; after a lost answer, look for it again."""
        lost: UnknownOutcome | None = None
        for attempt in range(1, self.patience.tries + 1):
            if (found := await find()) is not None:
                return found
            try:
                return await make()
            except UnknownOutcome as error:
                lost = error
            await anyio.sleep(self.patience.get_backoff_s(attempt, random.random()))
        raise ProviderDown(f"{self.endpoint.host} does not say what became of it: {lost}; resume the run later")

    async def send_request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        is_once: bool = False,
    ) -> HttpResponse:
        """Return an answer that is one, after as many tries as it takes.

        Raises:
            Lost: the request `is_once`, and may have had its effect.
        """
        waited, why = 0.0, ""
        for attempt in range(1, self.patience.tries + 1):
            outcome = await self._outcome(method, path, body, query or {})
            if isinstance(outcome, HttpResponse):
                return outcome
            why = outcome.why
            if is_once and not outcome.is_without_effect:
                raise UnknownOutcome(why)
            pause = outcome.after_s + self.patience.get_backoff_s(attempt, random.random())
            waited += pause
            if attempt == self.patience.tries or waited > self.patience.max_total_wait_s:
                break
            if pause >= _WORTH_TELLING_S:
                await self.tell(f"{self.endpoint.host}: {why}; it is asked again in {pause:.0f} s")
            await anyio.sleep(pause)
        asked = f"{method} {self.endpoint.repository}{path}"
        raise ProviderDown(f"{self.endpoint.host} did not answer {asked}: {why}; resume the run later")

    async def _outcome(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]
    ) -> HttpResponse | RetryAdvice:
        reply = await self.connection.send_request(method, path, body, query)
        if isinstance(reply, RetryAdvice) or reply.is_success:
            return reply
        said = self.endpoint.redact_text(parse_error_message(reply.content))
        again = find_retry_advice(reply.status, reply.headers, said)
        if again is None:
            raise http_client.build_refusal(self.endpoint, reply, method, path)
        return again

    def _parse(self, adapter: TypeAdapter[_T], reply: HttpResponse, within: str = "") -> _T:
        """Return what an answer holds, or what stands in it under the key `within`."""
        try:
            if not within:
                return adapter.validate_json(reply.content)
            answer = TypeAdapter(dict[str, Any]).validate_json(reply.content)
            return adapter.validate_python(answer.get(within))
        except ValidationError as error:
            raise http_client.build_bad_response(self.endpoint, error.errors()[0]["msg"]) from error


@asynccontextmanager
async def open_github_api(
    place: RepositoryEndpoint,
    tell: Callable[[str], Awaitable[None]] = _ignore_wait,
    patience: GitHubRetryPolicy | None = None,
) -> AsyncIterator[GitHubApi]:
    """Open the API while the block lasts; `tell` hears of long waits."""
    async with http_client.open_connection(place) as sender:
        yield GitHubApi(sender, place, patience or GitHubRetryPolicy(), tell)
