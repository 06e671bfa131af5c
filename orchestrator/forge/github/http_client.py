"""One request to GitHub and its answer: bounded in time and size, and not sent again where nothing has changed.

Also its refusals, by who has to mend what.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx

from orchestrator import __version__
from orchestrator.errors import EnvironmentProblem, PersonNeeded
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.github.responses import parse_error_message
from orchestrator.forge.github.retry import RetryAdvice

_VERSION = "2022-11-28"
_CONNECT_S = 15.0
_ANSWER_S = 60.0
_WHOLE_S = 180.0
_LARGEST_BYTES = 16 * 1024 * 1024
_CACHED = 64
_NOT_MODIFIED = 304
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_MOVED = range(300, 400)
_NEEDED = "contents: write, pull_requests: write, checks: read, statuses: read"


@dataclass(frozen=True)
class HttpResponse:
    """An answer; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """True if what was asked was done."""
        return 200 <= self.status < 300

    @property
    def has_next_page(self) -> bool:
        """True if there is a next page."""
        return 'rel="next"' in self.headers.get("link", "")


class GitHubConnection:
    """Sends requests about one repository."""

    def __init__(self, client: httpx.AsyncClient, place: RepositoryEndpoint) -> None:
        self._client = client
        self._place = place
        self._seen: dict[str, tuple[str, HttpResponse]] = {}

    async def send_request(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]
    ) -> HttpResponse | RetryAdvice:
        """Return what it answers, whatever that is; or that nobody answered.

        Raises:
            EnvironmentProblem: the answer has no end.
        """
        url = httpx.URL(f"{self._place.url}/repos/{self._place.repository}{path}", params=query)
        try:
            return await self._answer(method, url, body)
        except httpx.RequestError as error:
            why = f"{type(error).__name__} {self._place.redact_text(str(error))}".strip()
            return RetryAdvice(0.0, why, is_without_effect=isinstance(error, _UNSENT))

    async def _answer(self, method: str, url: httpx.URL, body: Mapping[str, Any] | None) -> HttpResponse:
        """Return what was read before is not sent again if it has not changed, and then counts for no limit."""
        earlier = self._seen.get(str(url)) if method == "GET" else None
        headers = {"If-None-Match": earlier[0]} if earlier else {}
        with anyio.move_on_after(_WHOLE_S) as deadline:
            async with self._client.stream(method, url, json=body, headers=headers) as response:
                content = await self._bounded(response)
        if deadline.cancelled_caught:
            raise httpx.ReadTimeout(f"no complete answer within {_WHOLE_S:g} s")
        response_headers = {name.lower(): value for name, value in response.headers.items()}
        reply = HttpResponse(response.status_code, response_headers, content)
        if reply.status == _NOT_MODIFIED and earlier:
            return earlier[1]
        self._remember(method, str(url), reply)
        return reply

    async def _bounded(self, response: httpx.Response) -> bytes:
        """Read an answer as it arrives: none is asked for compressed, where a few bytes could stand for any number."""
        if encoding := response.headers.get("Content-Encoding", ""):
            raise httpx.DecodingError(f"the answer is compressed ({encoding[:40]!r}), which was not asked for")
        content = bytearray()
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) > _LARGEST_BYTES:
                raise EnvironmentProblem(f"{self._place.host} answers with more than {_LARGEST_BYTES // 2**20} MiB")
        return bytes(content)

    def _remember(self, method: str, url: str, reply: HttpResponse) -> None:
        self._seen.pop(url, None)
        if method == "GET" and reply.is_success and (tag := reply.headers.get("etag")):
            self._seen[url] = (tag, reply)
            if len(self._seen) > _CACHED:
                del self._seen[next(iter(self._seen))]


@asynccontextmanager
async def open_connection(place: RepositoryEndpoint) -> AsyncIterator[GitHubConnection]:
    """Open connections while the block lasts. Proxies and certificates are those of the environment.

    Raises:
        EnvironmentProblem: the environment names a proxy or certificates that cannot be used.
    """
    headers = {
        "Accept": "application/vnd.github+json, application/json",
        "Accept-Encoding": "identity",
        "Authorization": f"Bearer {place.token}",
        "User-Agent": f"orchestrate/{__version__}",
        "X-GitHub-Api-Version": _VERSION,
    }
    timeout = httpx.Timeout(_ANSWER_S, connect=_CONNECT_S)
    try:
        client = httpx.AsyncClient(headers=headers, timeout=timeout, follow_redirects=False)
    except (ImportError, OSError, ValueError, httpx.InvalidURL) as error:
        raise EnvironmentProblem(
            f"{place.host} cannot be called with the proxy or the certificates that the environment names "
            f"({place.redact_text(str(error))}): see to HTTPS_PROXY, ALL_PROXY and SSL_CERT_FILE"
        ) from error
    async with client:
        yield GitHubConnection(client, place)


class UnknownOutcome(Exception):
    """Nobody knows whether a request that must happen once has had its effect."""


class GitHubRefused(PersonNeeded):
    """GitHub understood a request and does not do it; `words` are the status and what it says, in one line."""

    def __init__(self, host: str, what: str, words: str) -> None:
        super().__init__(f"{host} refuses {what} ({words}): see to that, then resume the run")
        self.detail = words


def build_refusal(
    place: RepositoryEndpoint, reply: HttpResponse, method: str, path: str
) -> EnvironmentProblem | GitHubRefused:
    """Return what a person has to mend about the token or the configuration if that is why, else GitHub's own words."""
    said, what = place.redact_text(parse_error_message(reply.content)), f"{place.repository}{path}"
    if reply.status == 401:
        mend = f"put a valid one into {place.token_variable}"
        return EnvironmentProblem(f"{place.host} does not accept the token in {place.token_variable} ({said}): {mend}")
    if reply.status == 403:
        return EnvironmentProblem(f"{place.host} forbids {method} {what} ({said}): {_rights(place, reply)}")
    if reply.status == 404:
        return EnvironmentProblem(
            f"{place.host} has no {what}, or the token in {place.token_variable} may not see it: set [pr] repository "
            "and url to what exists, or use a token that has access to it"
        )
    if reply.status in _MOVED:
        moved = f"{place.host} says that {place.repository} has moved"
        return EnvironmentProblem(f"{moved}: set [pr] repository to its new owner/name")
    return GitHubRefused(place.host, f"{method} {what}", f"{reply.status} {said}".strip())


def build_bad_response(place: RepositoryEndpoint, what: str) -> EnvironmentProblem:
    """Return an answer that GitHub would not give."""
    problem = f"{place.host} does not answer as GitHub's API does ({what})"
    return EnvironmentProblem(f"{problem}: is [pr] url right? Enterprise servers have it at https://HOST/api/v3")


def _rights(place: RepositoryEndpoint, reply: HttpResponse) -> str:
    """Return how to mend a 403. GitHub names the permission that is missing, and the page that lets a token sign in."""
    if "x-github-sso" in reply.headers:
        return f"authorize the token in {place.token_variable} for the organization's single sign-on"
    wanted = place.redact_text(reply.headers.get("x-accepted-github-permissions", "")).replace("=", ": ")
    return f"give the token in {place.token_variable} this permission on {place.repository}: {wanted or _NEEDED}"
