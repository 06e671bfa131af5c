"""One model call of a session, with everything around it: budget, journal, retries."""

from typing import Any

from orchestrator.agent.spec import SessionSpec
from orchestrator.domain.chat import Message, Reply, Request
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied
from orchestrator.llm.budget import Budget
from orchestrator.llm.digest import request_sha
from orchestrator.llm.errors import ModelError
from orchestrator.llm.retry import RetryPolicy, complete_with_retries
from orchestrator.ports.effect import effect
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.models import ModelClient


class Asker:
    """Asks models on behalf of sessions."""

    def __init__(self, client: ModelClient, ledger: Ledger, policy: RetryPolicy, budget: Budget) -> None:
        self._client = client
        self._ledger = ledger
        self._policy = policy
        self._budget = budget

    async def ask(self, spec: SessionSpec, turn: int, messages: tuple[Message, ...]) -> Reply:
        """The reply to a session's next request; it is in the ledger when this returns.

        Raises:
            LimitReached: the budget does not allow another call.
            ModelError: the provider will not answer this request.
            ProviderDown: it did not answer within the policy's bounds.
        """
        self._budget.check(self._ledger.state.spent)
        tries = _JournaledTries(self._client, self._ledger, spec.prompt)
        return await complete_with_retries(tries, spec.request(turn, messages), self._policy, tries.failed)


class _JournaledTries:
    """A ModelClient that books every try: intent before, answer or failure after."""

    def __init__(self, client: ModelClient, ledger: Ledger, prompt: str) -> None:
        self._client = client
        self._ledger = ledger
        self._prompt = prompt
        self._open: ModelCalled | None = None

    async def complete(self, request: Request) -> Reply:
        called = ModelCalled(
            key=self._ledger.next_key(f"model/{request.session}/{request.turn}"),
            task=request.task,
            session=request.session,
            turn=request.turn,
            role=request.role,
            model=request.model,
            request=request_sha(request),
            prompt=self._prompt,
        )
        self._open = called
        async with effect(self._ledger, called, unsettled=(ModelError,)) as asking:
            reply = await self._client.complete(request)
            asking.done = ModelReplied(
                **_shared(called),
                model=reply.model or request.model,
                text=await self._ledger.keep(reply.text),
                tool_calls=reply.tool_calls,
                finish_reason=reply.finish_reason,
                usage=reply.usage,
                seconds=round(reply.seconds, 3),
            )
        return reply

    async def failed(self, error: ModelError, _try_no: int, retry_in_s: float | None) -> None:
        if self._open is not None:
            await self._ledger.append(lost_call(self._open, error.code, str(error), retry_in_s))

    async def check(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        return await self._client.check(model, api_base, api_key_env)


def _shared(called: ModelCalled) -> dict[str, Any]:
    return called.model_dump(include={"key", "task", "session", "turn", "role"})


def lost_call(called: ModelCalled, error: str, detail: str, retry_in_s: float | None = None) -> ModelFailed:
    """The end of a call that brought no reply."""
    return ModelFailed(**_shared(called), model=called.model, error=error, detail=detail[:2_000], retry_in_s=retry_in_s)
