"""Reaching every provider through litellm: the only module that imports it, and only when it is first needed.

Importing litellm costs seconds and 150 MB, so it happens in a worker thread. It is set up to fetch nothing at
import, to read no `.env` file, to print and report nothing, and never to retry: retries are `retry.py`'s.
"""

import gc
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any, Self

import anyio
from anyio.to_thread import run_sync

from orchestrator.collector_pause import pause_collector
from orchestrator.domain.budget.price import Price
from orchestrator.domain.chat import Reply, Request
from orchestrator.llm.errors import CallTimedOut, ModelError, RequestRefused, Unavailable, UnknownModel
from orchestrator.llm.litellm_adapter import credentials, message_conversion
from orchestrator.llm.litellm_adapter.error_mapping import map_error
from orchestrator.llm.litellm_adapter.pricing import find_listed_cost, find_listed_price, find_stated_cost
from orchestrator.llm.litellm_adapter.reasoning import ReasoningWriter
from orchestrator.llm.litellm_adapter.reply_meter import BYTES_PER_MB, MAX_REPLY_MB, CallStage, ReplyMeter
from orchestrator.llm.litellm_adapter.skipped_work import (
    build_skipping_arguments,
    remember_checked_schemas,
    skip_call_log,
    skip_cost_reports,
    skip_token_counts,
)

LITELLM_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    # Its redactor takes seconds for a megabyte of an error; it logs nothing here, and the journal has its own.
    "LITELLM_DISABLE_REDACT_SECRETS": "true",
    # Without it the OpenAI SDK walks every message of every request in Python: 50 ms a call at 300 messages, not 8.
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER": "True",
    # Else it searches all messages of every request for images, for a log that nobody keeps.
    "MAX_BASE64_LENGTH_FOR_LOGGING": "0",
}


_LOADING = threading.Lock()


def load_litellm() -> Any:  # noqa: ANN401  a module without usable types
    """Load litellm, silenced, once. Blocks.

    Meanwhile no garbage is collected: with all the classes that it makes, that takes a quarter of the time. Afterwards
    they are out of the collector's sight: each of its next collections would take 0.2 s for them.
    """
    with _LOADING, pause_collector():
        return _load()


@cache
def _load() -> Any:  # noqa: ANN401  a module without usable types
    for name, value in LITELLM_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import litellm

    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    litellm.enable_anthropic_prompt_caching = True
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False
        logger.setLevel(logging.CRITICAL + 1)
    # A call that is cancelled while litellm still prepares it in a thread leaves its coroutine behind.
    warnings.filterwarnings("ignore", r"coroutine '.*completion' was never awaited", RuntimeWarning)
    # What pydantic has to say of litellm's types for streamed replies.
    warnings.filterwarnings("ignore", r"Items? '.*' on TypedDict class", UserWarning)
    warnings.filterwarnings("ignore", r"Pydantic serializer warnings", UserWarning)  # of values that a server makes up
    warnings.filterwarnings("ignore", r"Accessing the 'model_\w+' attribute", DeprecationWarning)
    _meter_transports()
    skip_cost_reports(litellm)
    skip_token_counts(litellm)
    remember_checked_schemas(litellm)
    gc.freeze()
    return litellm


def _meter_transports() -> None:
    """Bound what is received by every HTTP client that litellm and the libraries below it make."""
    import httpx
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    from orchestrator.llm.litellm_adapter.metered_transports import install_meter, install_sync_meter

    install_meter(LiteLLMAiohttpTransport)
    install_meter(httpx.AsyncHTTPTransport)
    install_sync_meter(httpx.HTTPTransport)


@dataclass(eq=False)
class LiteLLMClient:
    """A ModelClient for every provider that litellm knows. Use it as a context manager, or `aclose` it.

    `prices` override litellm's price list, by model name as configured; `max_reply_mb` bounds a reply, in megabytes.
    """

    prices: Mapping[str, Price] = field(default_factory=dict)
    now: Callable[[], float] = time.time
    max_reply_mb: float = MAX_REPLY_MB
    _litellm: Any = None

    async def request_completion(self, request: Request) -> Reply:
        """Return one try. Cancelling it closes the connection.

        Raises:
            ModelError: the try failed; its class says what to do about it.
        """
        if unbounded := credentials.find_unbounded_problem(request.model):
            raise UnknownModel(unbounded)
        key = credentials.read_api_key(request.model, request.api_base, request.api_key_env)
        litellm = await self._loaded()
        max_bytes = round(self.max_reply_mb * BYTES_PER_MB)
        meter = ReplyMeter(request.model, max_bytes, is_streamed=bool(request.stall_timeout_s))
        try:
            with meter.count_call():
                return await self._complete(litellm, request, key, meter)
        except Exception as error:  # the boundary to every provider's library, and to what its server answers
            failure = meter.fault or self._translated(error, request)
            failure.may_be_billed = meter.may_be_billed
            if failure is error:
                raise
            raise failure from error

    async def _complete(self, litellm: Any, request: Request, key: str | None, meter: ReplyMeter) -> Reply:  # noqa: ANN401
        begun = anyio.current_time()
        with anyio.move_on_after(request.timeout_s), skip_call_log(litellm):
            response = await self._call(litellm, request, key)
            if request.stall_timeout_s:
                async with aclosing(response):  # also if it stalls, breaks off or is cancelled
                    response = await message_conversion.read_stream(response, request, meter)
            if meter.fault is not None:
                raise meter.fault
            if meter.stage is CallStage.UNSENT:
                problem = "the reply came past the bounds on its size; use another provider"
                raise RequestRefused(f"{request.model}: {problem}")
            seconds = anyio.current_time() - begun
            reply = message_conversion.build_reply(response, request, self._cost(litellm, request, response), seconds)
            if message_conversion.find_counted_usage(response):
                return reply
            return self._with_estimated_cost(litellm, request, reply)
        if meter.stage is CallStage.UNSENT:
            raise Unavailable(f"{request.model}: nothing could be sent within {request.timeout_s:g} s")
        raise CallTimedOut(f"{request.model}: no complete reply within {request.timeout_s:g} s")

    async def find_model_problem(self, model: str, api_base: str | None, api_key_env: str | None) -> str | None:
        """Return what is wrong with the name or the credentials, with the variable to set; makes no call.

        litellm is loaded only for providers whose variables are not known here.
        """
        if (known := await run_sync(credentials.check_credentials, model, api_base, api_key_env)) is not None:
            return known.problem
        return await run_sync(credentials.find_credential_problem, await self._loaded(), model, api_base, api_key_env)

    async def find_price(self, model: str) -> Price | None:
        """Return the user's own price for a model, else the list's; None when neither has one."""
        if own := self.prices.get(model):
            return own
        return find_listed_price(await self._loaded(), model)

    async def aclose(self) -> None:
        """Close the connections of this process's litellm."""
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()
            self._litellm.in_memory_llm_clients_cache.flush_cache()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    async def _loaded(self) -> Any:  # noqa: ANN401  a module
        if self._litellm is None:
            self._litellm = await run_sync(load_litellm)
        return self._litellm

    async def _call(self, litellm: Any, request: Request, key: str | None) -> Any:  # noqa: ANN401  theirs
        with message_conversion.limit_stall(request):
            response = await litellm.acompletion(**_arguments(request, key), **build_skipping_arguments(litellm))
        if response is None:
            raise RequestRefused(f"{request.model}: the provider refuses the request's parameters")
        return response

    def _translated(self, error: Exception, request: Request) -> ModelError:
        if isinstance(error, ModelError):
            return error
        key_variable = credentials.describe_key_variable(request.model, request.api_key_env)
        return map_error(error, request.model, key_variable, self.now())

    def _cost(self, litellm: Any, request: Request, response: Any) -> Decimal | None:  # noqa: ANN401
        tokens = message_conversion.find_counted_usage(response)
        if tokens is None:
            return None
        if price := self.prices.get(request.model):
            return price.compute_cost(tokens)
        return find_stated_cost(response) or find_listed_cost(litellm, request.model, response)

    def _with_estimated_cost(self, litellm: Any, request: Request, reply: Reply) -> Reply:  # noqa: ANN401
        """Price a reply by its estimated tokens; the cost is unknown unless the price is the user's own."""
        own = self.prices.get(request.model)
        price = own or find_listed_price(litellm, request.model)
        if price is None:
            return reply
        known = {"cost_usd": price.compute_cost(reply.usage), "unpriced_calls": 0 if own else 1}
        return reply.model_copy(update={"usage": reply.usage.model_copy(update=known)})


def _arguments(request: Request, key: str | None) -> dict[str, Any]:
    """Return the call; what the request leaves open is left out, so that the provider's own default holds."""
    writer = ReasoningWriter(request)
    optional = {
        "tools": message_conversion.render_tools(request.tools, request.model) or None,
        "api_base": request.api_base,
        "api_key": key,
        "temperature": request.temperature,
        "max_tokens": request.max_output_tokens,
        "stream": True if request.stall_timeout_s else None,
        "stream_options": {"include_usage": True} if request.stall_timeout_s else None,
    }
    return {
        **_thinking_arguments(request, is_off=writer.has_gap),
        "model": request.model,
        "messages": message_conversion.render_messages(request.messages, writer),
        "timeout": request.timeout_s,
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": True,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _thinking_arguments(request: Request, *, is_off: bool) -> dict[str, Any]:
    """Return the user's own parameters and how much the model is to think.

    Args:
        request: the call.
        is_off: whether the model has to answer without thinking, as earlier thinking cannot go back to it.
    """
    chosen: dict[str, Any] = dict(request.extra)
    if is_off:
        chosen.pop("thinking", None)
        body = dict(chosen.pop("extra_body", {}))
        body.pop("thinking", None)
        return {**chosen, "extra_body": body} if body else chosen
    if request.reasoning_effort:
        chosen["reasoning_effort"] = request.reasoning_effort
        if request.api_base and credentials.is_third_party_endpoint(request.model, request.api_base):
            chosen["allowed_openai_params"] = ["reasoning_effort"]
    return chosen
