"""Transports that count what a model call receives where the bytes arrive: before decompression and before parsing.

litellm reaches providers through several HTTP clients, of which none takes a bound. All of them end in a transport, so
it is the transports' classes that are wrapped. The call under way is found by a context variable: what else uses the
same transports is left alone. Imported together with litellm, since it costs as the HTTP libraries do.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import wraps
from typing import Any

import anyio
import httpx

from orchestrator.llm.errors import ModelError
from orchestrator.llm.litellm_adapter import reply_meter

_BROKEN_OFF = frozenset({"ClientOSError"})
"""What aiohttp calls a connection that breaks off; litellm makes one error of that and of a refused one."""


def install_meter(transport: type[httpx.AsyncBaseTransport]) -> None:
    """Have every asynchronous transport of this class count for the call under way."""
    plain = transport.handle_async_request
    if hasattr(plain, "__wrapped__"):
        return

    @wraps(plain)
    async def handle_async_request(self: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
        meter = reply_meter.find_current_meter()
        if meter is None:
            return await plain(self, request)
        _begin_request(meter, request)
        try:
            response = await plain(self, request)
        except BaseException as error:
            meter.stage = reply_meter.CallStage.UNSENT if _is_unsent(error) else reply_meter.CallStage.SENT
            raise
        try:
            _bound_response(meter, response)
        except ModelError:
            await response.aclose()
            raise
        return response

    _replace_method(transport, "handle_async_request", handle_async_request)


def install_sync_meter(transport: type[httpx.BaseTransport]) -> None:
    """Have every transport of this class count for the call under way; some providers are asked from a thread."""
    plain = transport.handle_request
    if hasattr(plain, "__wrapped__"):
        return

    @wraps(plain)
    def handle_request(self: httpx.BaseTransport, request: httpx.Request) -> httpx.Response:
        meter = reply_meter.find_current_meter()
        if meter is None:
            return plain(self, request)
        _begin_request(meter, request)
        try:
            response = plain(self, request)
        except BaseException as error:
            meter.stage = reply_meter.CallStage.UNSENT if _is_unsent(error) else reply_meter.CallStage.SENT
            raise
        try:
            _bound_response(meter, response)
        except ModelError:
            response.close()
            raise
        return response

    _replace_method(transport, "handle_request", handle_request)


def _replace_method(owner: type[Any], name: str, method: Callable[..., Any]) -> None:
    setattr(owner, name, method)


def _begin_request(meter: reply_meter.ReplyMeter, request: httpx.Request) -> None:
    """Ask for a reply that is not compressed: it is small, and a few bytes could stand for any number."""
    meter.stage = reply_meter.CallStage.SENT
    request.headers["Accept-Encoding"] = "identity"


def _is_unsent(error: BaseException) -> bool:
    """Return True if no provider can have seen the request: no connection came about."""
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError | httpx.UnsupportedProtocol):
        return True
    return isinstance(error, httpx.ConnectError) and type(error.__cause__).__name__ not in _BROKEN_OFF


def _bound_response(meter: reply_meter.ReplyMeter, response: httpx.Response) -> None:
    encoding = str(response.headers.pop("Content-Encoding", ""))
    response.headers.pop("Content-Length", None)
    body = reply_meter.build_body(meter, encoding, is_success=response.is_success)
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _AsyncBoundedStream(response.stream, body)
    elif isinstance(response.stream, httpx.SyncByteStream):
        response.stream = _BoundedStream(response.stream, body)


class _AsyncBoundedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, body: reply_meter.ReplyBody) -> None:
        self._inner = inner
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._inner:
            await anyio.lowlevel.checkpoint()  # what has arrived already is handed out without a pause
            yield self._body.decode_chunk(data)
            if self._body.is_full:
                return

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx.SyncByteStream):
    def __init__(self, inner: httpx.SyncByteStream, body: reply_meter.ReplyBody) -> None:
        self._inner = inner
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        for data in self._inner:
            yield self._body.decode_chunk(data)
            if self._body.is_full:
                return

    def close(self) -> None:
        self._inner.close()
