"""GitHub's REST API about one repository: what is asked for as types, as patiently as it takes."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio
from pydantic import BaseModel, TypeAdapter, ValidationError

from orchestrator.errors import EnvironmentProblem, ProviderDown
from orchestrator.forge.github_answers import told
from orchestrator.forge.github_http import Exchange, Reply, exchange
from orchestrator.forge.github_pace import Again, Patience, again_after
from orchestrator.forge.github_place import Place
from orchestrator.forge.github_refusals import Lost, refusal, senseless

_PER_PAGE = 100
_PAGES = 10
_WORTH_TELLING_S = 10.0
_Model = TypeVar("_Model", bound=BaseModel)


async def _silent(_: str) -> None:
    """Nobody is told."""


class GitHubApi:
    """What can be asked about the repository; paths are below it, such as `/pulls/1`. All of its methods raise:

    Refused: GitHub understands the request and does not do it (405, 409, 422).
    EnvironmentProblem: the token or the repository does not do, or this is no GitHub.
    ProviderDown: it stays down, or limits for too long.
    """

    def __init__(
        self,
        sender: Exchange,
        place: Place,
        patience: Patience | None = None,
        tell: Callable[[str], Awaitable[None]] = _silent,
    ) -> None:
        self._exchange = sender
        self.place = place
        self._patience = patience or Patience()
        self._tell = tell

    async def get(self, model: type[_Model], path: str) -> _Model:
        """One thing; an empty path is the repository itself."""
        return self._read(model, await self.ask("GET", path))

    async def pages(self, model: type[_Model], path: str, within: str = "", **query: str) -> list[_Model]:
        """All of a list, which may stand under a key of its own; longer than anybody should read is a problem."""
        found: list[_Model] = []
        for page in range(1, _PAGES + 1):
            reply = await self.ask("GET", path, query={**query, "per_page": str(_PER_PAGE), "page": str(page)})
            found += self._read_list(model, reply, within)
            if not reply.goes_on:
                return found
        raise EnvironmentProblem(
            f"{self.place.repository}{path} has more than {_PAGES * _PER_PAGE} entries, which is too long to read"
        )

    async def make(self, model: type[_Model], path: str, body: Mapping[str, Any]) -> _Model:
        """Have something made that must not be made twice.

        Raises:
            Lost: it may have been made.
        """
        return self._read(model, await self.ask("POST", path, body, is_once=True))

    async def set(self, model: type[_Model], method: str, path: str, body: Mapping[str, Any]) -> _Model:
        """Have something be so; done twice it is the same as once."""
        return self._read(model, await self.ask(method, path, body))

    async def once(self, find: Callable[[], Awaitable[_Model | None]], make: Callable[[], Awaitable[_Model]]) -> _Model:
        """What is found, else what is made, however often nobody hears whether it was: then it is looked for again."""
        lost: Lost | None = None
        for attempt in range(1, self._patience.tries + 1):
            if (found := await find()) is not None:
                return found
            try:
                return await make()
            except Lost as error:
                lost = error
            await anyio.sleep(self._patience.pause(attempt, random.random()))
        raise ProviderDown(f"{self.place.host} does not say what became of it: {lost}; resume the run later")

    async def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str] | None = None,
        is_once: bool = False,
    ) -> Reply:
        """An answer that is one, after as many tries as it takes.

        Raises:
            Lost: the request `is_once`, and may have had its effect.
        """
        waited, why = 0.0, ""
        for attempt in range(1, self._patience.tries + 1):
            outcome = await self._outcome(method, path, body, query or {})
            if isinstance(outcome, Reply):
                return outcome
            why = outcome.why
            if is_once and not outcome.is_undone:
                raise Lost(why)
            pause = outcome.after_s + self._patience.pause(attempt, random.random())
            waited += pause
            if attempt == self._patience.tries or waited > self._patience.longest_s:
                break
            await self._wait(pause, why)
        asked = f"{method} {self.place.repository}{path}"
        raise ProviderDown(f"{self.place.host} did not answer {asked}: {why}; resume the run later")

    async def _outcome(
        self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, str]
    ) -> Reply | Again:
        reply = await self._exchange.send(method, path, body, query)
        if isinstance(reply, Again) or reply.is_fine:
            return reply
        again = again_after(reply.status, reply.headers, self.place.plain(told(reply.content)))
        if again is None:
            raise refusal(self.place, reply, method, path)
        return again

    async def _wait(self, pause_s: float, why: str) -> None:
        if pause_s >= _WORTH_TELLING_S:
            await self._tell(f"{self.place.host}: {why}; it is asked again in {pause_s:.0f} s")
        await anyio.sleep(pause_s)

    def _read(self, model: type[_Model], reply: Reply) -> _Model:
        try:
            return model.model_validate_json(reply.content)
        except ValidationError as error:
            raise senseless(self.place, error.errors()[0]["msg"]) from error

    def _read_list(self, model: type[_Model], reply: Reply, within: str) -> list[_Model]:
        items = TypeAdapter(list[model])  # type: ignore[valid-type]
        try:
            if not within:
                return items.validate_json(reply.content)
            answer = TypeAdapter(dict[str, Any]).validate_json(reply.content)
            return items.validate_python(answer.get(within))
        except ValidationError as error:
            raise senseless(self.place, error.errors()[0]["msg"]) from error


@asynccontextmanager
async def github_api(
    place: Place, tell: Callable[[str], Awaitable[None]] = _silent, patience: Patience | None = None
) -> AsyncIterator[GitHubApi]:
    """The API while the block lasts; `tell` hears of long waits."""
    async with exchange(place) as sender:
        yield GitHubApi(sender, place, patience, tell)
