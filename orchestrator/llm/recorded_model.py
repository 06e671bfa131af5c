"""A model that answers what a journal has as its answers: for replays. No network, no cost."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from orchestrator.domain.budget.price import FREE_PRICE, Price
from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.ids import SessionId
from orchestrator.llm.errors import ERROR_CLASSES, ModelError

CallPosition = tuple[SessionId, int]
"""A session and a turn of it: where in a run a model was asked."""


@dataclass(frozen=True)
class RecordedAnswer:
    """The end of a recorded call: a reply, or the error `code` that ended its session."""

    reply: Reply | None
    code: str = ""
    detail: str = ""


@dataclass(frozen=True)
class RecordedModel:
    """A ModelClient over recorded answers.

    A session and a turn name a call, so it does not matter how often it was tried when it was recorded. `on_request` is
    told of every request before it is answered; `wait_for_turn` waits until the answer's turn has come, and raises if
    it never can.
    """

    answers: Mapping[CallPosition, RecordedAnswer]
    wait_for_turn: Callable[[CallPosition], Awaitable[None]]
    on_request: Callable[[Request], Awaitable[None]]

    async def request_completion(self, request: Request) -> Reply:
        """Return the recorded reply.

        Raises:
            ModelError: the call ended so when it was recorded.
        """
        place = (request.session, request.turn)
        await self.on_request(request)
        await self.wait_for_turn(place)
        answer = self.answers[place]
        if answer.reply is None:
            raise ERROR_CLASSES.get(answer.code, ModelError)(answer.detail)
        return answer.reply

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return none: whatever the model was, it has answered."""
        return None

    async def find_price(self, model: str) -> Price | None:
        """Return nothing: what it cost was paid when it was recorded."""
        return FREE_PRICE
