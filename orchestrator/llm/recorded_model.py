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


class RecordedModel:
    """A ModelClient over recorded answers.

    A session and a turn name a call, so it does not matter how often it was tried when it was recorded. `heard` is told
    of every request before it is answered; `turn` waits until the answer's turn has come, and raises if it never can.
    """

    def __init__(
        self,
        answers: Mapping[CallPosition, RecordedAnswer],
        turn: Callable[[CallPosition], Awaitable[None]],
        heard: Callable[[Request], Awaitable[None]],
    ) -> None:
        self._answers = answers
        self._turn = turn
        self._heard = heard

    async def request_completion(self, request: Request) -> Reply:
        """Return the recorded reply.

        Raises:
            ModelError: the call ended so when it was recorded.
        """
        place = (request.session, request.turn)
        await self._heard(request)
        await self._turn(place)
        answer = self._answers[place]
        if answer.reply is None:
            raise ERROR_CLASSES.get(answer.code, ModelError)(answer.detail)
        return answer.reply

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return none: whatever the model was, it has answered."""
        return None

    async def find_price(self, model: str) -> Price | None:
        """Return nothing: what it cost was paid when it was recorded."""
        return FREE_PRICE
