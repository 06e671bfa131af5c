"""One model call of a session, with everything around it: budget, journal, retries."""

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import anyio

from orchestrator.agent.reasoning_redaction import hide_reasoning_secrets
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.domain.budget.price import Price
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reasoning, Reply, Request, ToolCall
from orchestrator.domain.event import Done, Intent
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied
from orchestrator.errors import OrchestrateError, PausedByPerson
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.errors import ModelError
from orchestrator.llm.request_digest import hash_request
from orchestrator.llm.retry import ModelCallPolicy, RetryPolicy, complete_with_fallbacks
from orchestrator.llm.throttling.providers import ProviderRegistry
from orchestrator.ports.effect import record_effect
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.model_client import ModelClient

_MAX_NOTICE_CHARS = 300
PriceLookup = Callable[[str], Awaitable[Price | None]]
"""What a model charges, by its name; None where nobody knows."""


@dataclass(eq=False)
class ModelCaller:
    """Asks models on behalf of sessions."""

    client: ModelClient
    ledger: Ledger
    policy: RetryPolicy
    budget: RunBudget
    providers: ProviderRegistry = field(default_factory=ProviderRegistry)
    _prices: dict[str, Price | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._switches = _FallbackNotices(self.ledger)

    async def ask_model(self, spec: SessionSpec, turn: int, messages: tuple[Message, ...]) -> Reply:
        """Return the reply to a session's next request; it is in the ledger when this returns.

        Raises:
            LimitReached: the budget does not allow another call.
            OutOfBudget: the task's own budget does not.
            PausedByPerson: a person paused the run.
            ModelError: no configured model will answer this request.
            ProviderDown: none did within the policy's bounds.
        """
        tries = _JournaledTries(self.client, self.ledger, self.budget, self._find_price, spec.prompt)
        asking = ModelCallPolicy(self.providers, self.policy, tries.record_failure, self._switches.record_answer)
        return await complete_with_fallbacks(tries, spec.build_requests(turn, messages), asking)

    async def _find_price(self, model: str) -> Price | None:
        if model not in self._prices:
            self._prices[model] = await self.client.find_price(model)
        return self._prices[model]


class _FallbackNotices:
    """Remembers which model answers in whose place, and tells a person when that changes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._answering: dict[tuple[str, str, str | None], tuple[str, str | None]] = {}

    async def record_answer(self, usual: Request, answering: Request, why: OrchestrateError | None) -> None:
        """Note who answered in the place of the usual model; `why` the model before it could not be asked."""
        name, now = (usual.role, *_identify_model(usual)), _identify_model(answering)
        if now == self._answering.get(name, _identify_model(usual)):
            return
        self._answering[name] = now
        if now == _identify_model(usual):
            notice = Noticed(level="info", text=f"{usual.model} answers the {usual.role} again", task=usual.task)
        else:
            text = f"{answering.model} answers the {usual.role} in place of {usual.model}: {why}"
            notice = Noticed(level="warning", text=self._ledger.redact_text(text)[:_MAX_NOTICE_CHARS], task=usual.task)
        await self._ledger.append(notice)


def _identify_model(request: Request) -> tuple[str, str | None]:
    return request.model, request.api_base


@dataclass(eq=False)
class _JournaledTries:
    """Tries of one call, each booked: reserved and recorded before, answer or failure after."""

    _client: ModelClient
    _ledger: Ledger
    _budget: RunBudget
    _price_of: PriceLookup
    _prompt: str
    _open: ModelCalled | None = None
    _holds: bool = False

    async def request_completion(self, request: Request) -> Reply:
        price = await self._price_of(request.model)
        reserved = await self._budget.reserve_call(self._ledger.state, request, price)
        self._holds = True
        with ExitStack() as reservation:
            reservation.callback(self._release)
            self._require_going()
            try:
                return await self._complete(request, reserved)
            except ModelError:
                reservation.pop_all()  # it stands until `record_failure` has recorded the failure
                raise

    def _require_going(self) -> None:
        """Refuse to go on while a person has paused the run; each try asks, since the one before may be long ago."""
        state = self._ledger.state
        if state.user_pause is not None:
            raise PausedByPerson(f"{state.user_pause}; go on with: orchestrate continue {state.run.run}")

    async def _complete(self, request: Request, reserved: Usage) -> Reply:
        called = ModelCalled(
            key=self._ledger.build_next_key(f"model/{request.session}/{request.turn}"),
            task=request.task,
            session=request.session,
            turn=request.turn,
            role=request.role,
            model=request.model,
            reserved=reserved,
            request=hash_request(request),
            prompt=self._prompt,
        )
        self._open = called
        async with record_effect(self._ledger, called, (ModelError,), _build_lost, stages_done=True) as asking:
            reply = _hide_secrets(self._ledger, await self._client.request_completion(request))
            with anyio.CancelScope(shield=True):
                await self._ledger.wait_for_admission()
                asking.done = await self._build_replied(called, reply)
        self._open = None
        return reply.model_copy(update={"asked_model": request.model})

    async def _build_replied(self, called: ModelCalled, reply: Reply) -> ModelReplied:
        """Return a reply as it is recorded, once its long texts are stored."""
        thought = reply.reasoning or Reasoning()
        return ModelReplied(
            **_copy_identity(called),
            model=reply.model or called.model,
            text=await self._ledger.store_text(reply.text, is_said=True),
            tool_calls=reply.tool_calls,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
            seconds=round(reply.seconds, 3),
            reasoning=await self._ledger.store_text(thought.text, is_said=True),
            reasoning_blocks=await self._ledger.store_text(thought.blocks, is_said=True),
            is_reasoning_withheld=thought.is_withheld,
        )

    async def record_failure(self, error: ModelError, _try_no: int, retry_in_s: float | None) -> None:
        """Book a failed try; one that was turned away before it began was none."""
        called, self._open = self._open, None
        try:
            if called is not None:
                lost = build_call_failure(called, error.code, self._ledger.redact_text(str(error)), retry_in_s)
                known = {"pool": error.pool, "opens_at": error.opens_at, "may_be_billed": error.may_be_billed}
                await self._ledger.append(lost.model_copy(update=known))
        finally:
            self._release()

    def _release(self) -> None:
        if self._holds:
            self._holds = False
            self._budget.settle_call()

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        return await self._client.find_model_problem(model, api_base, api_key_env)

    async def find_price(self, model: str) -> Price | None:
        return await self._price_of(model)


def _hide_secrets(ledger: Ledger, reply: Reply) -> Reply:
    """Return a reply as everybody is to know it: the tools that it calls, its session and the journal alike."""
    hide = ledger.hide_known_secrets
    calls = tuple(_hide_call_secrets(call, hide) for call in reply.tool_calls)
    reasoning = hide_reasoning_secrets(reply.reasoning, hide)
    return reply.model_copy(update={"text": hide(reply.text), "tool_calls": calls, "reasoning": reasoning})


def _hide_call_secrets(call: ToolCall, hide: Callable[[str], str]) -> ToolCall:
    """Return a call without secrets. Providers choose its id, some put signed thinking into it: it gets another one."""
    call_id = call.id
    if hide(call_id) != call_id:
        call_id = f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:24]}"
    return call.model_copy(update={"id": call_id, "arguments": hide(call.arguments)})


def _copy_identity(called: ModelCalled) -> dict[str, Any]:
    return {name: getattr(called, name) for name in ("key", "task", "session", "turn", "role")}


def _build_lost(intent: Intent, reason: str) -> Done:
    if not isinstance(intent, ModelCalled):
        raise TypeError(f"{intent.kind} is no model call")
    return build_call_failure(intent, "lost", f"{reason}; it may have been billed")


def build_call_failure(called: ModelCalled, error: str, detail: str, retry_in_s: float | None = None) -> ModelFailed:
    """Return the end of a call that brought no reply."""
    identity, detail = _copy_identity(called), detail[:2_000]
    return ModelFailed(**identity, model=called.model, error=error, detail=detail, retry_in_s=retry_in_s)
