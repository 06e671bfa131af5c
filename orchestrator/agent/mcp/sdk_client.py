"""A client of one server, by the official SDK: over the pipes of a program, or over HTTP.

The only module beside `cli.mcp.server` that loads the SDK. Requests of the server are refused, by not offering
anything: no model, no questions to people, no folders. Links to resources are not followed.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import ClientSession, MCPError, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from pydantic import BaseModel, ValidationError

from orchestrator import __version__
from orchestrator.agent.mcp.server_limits import MAX_TOOLS, ServerProblem, SpeechMeter
from orchestrator.config.mcp import McpServerSettings
from orchestrator.domain.mcp.tool_definition import ServerFailure, ToolDefinition
from orchestrator.errors import ProgramGone
from orchestrator.ports.processes import ProcessPipes

_SentStream = MemoryObjectSendStream[SessionMessage | Exception]
_PROBLEM_CHARS = 2_000
_MAX_PAGES = 20


class ServerAnswer(BaseModel):
    """The answer of a tool, as text; `is_error` is the server's own word that it failed."""

    text: str
    is_error: bool = False


class SdkClient:
    """A server that has been greeted."""

    def __init__(self, session: ClientSession, meter: SpeechMeter) -> None:
        self._session = session
        self._meter = meter

    async def list_tools(self) -> tuple[ToolDefinition, ...]:
        """Return the definitions of all its tools.

        Raises:
            ServerProblem: it does not answer as it should, or has too many.
        """
        found: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor)
            page = await self._request(types.ListToolsRequest(params=params), types.ListToolsResult)
            found += page.tools
            cursor = page.next_cursor
            if len(found) > MAX_TOOLS:
                raise ServerProblem(ServerFailure.REFUSED, f"it has more than {MAX_TOOLS} tools")
            if cursor is None:
                return tuple(map(_build_definition, found))
        raise ServerProblem(ServerFailure.REFUSED, "its list of tools does not end")

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ServerAnswer:
        """Return the answer of a tool.

        Raises:
            ServerProblem: there is none.
        """
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        result = await self._request(types.CallToolRequest(params=params), types.CallToolResult)
        parts = [_format_block(block) for block in result.content]
        if not parts and result.structured_content is not None:
            parts.append(json.dumps(result.structured_content, ensure_ascii=False))
        return ServerAnswer(text="\n".join(parts), is_error=bool(result.is_error))

    async def _request(self, request: types.ClientRequest, kind: type[Any]) -> Any:  # noqa: ANN401  as `kind` says
        self._meter.begin_answer()
        try:
            return await self._session.send_request(request, kind)
        except MCPError as error:
            if self._meter.problem is not None:
                raise self._meter.problem from error
            raise ServerProblem(ServerFailure.REFUSED, f"it says: {error.message[:_PROBLEM_CHARS]}") from error
        except ValidationError as error:
            raise ServerProblem(ServerFailure.REFUSED, "its answer is not one of the protocol") from error


@asynccontextmanager
async def open_piped_client(pipes: ProcessPipes, meter: SpeechMeter) -> AsyncIterator[SdkClient]:
    """Speak with a server over the pipes of its program, while the block lasts."""
    sent, source = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    sink, written = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_pipes, pipes, sent, meter)
        tasks.start_soon(_write_pipes, pipes, written)
        async with ClientSession(source, sink, client_info=_introduce()) as session:
            await _greet(session, meter)
            yield SdkClient(session, meter)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def open_http_client(settings: McpServerSettings, token: str, meter: SpeechMeter) -> AsyncIterator[SdkClient]:
    """Speak with a server at its url, while the block lasts; `token` is empty where it needs none."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = _MeteredTransport(meter)
    timeout = httpx2.Timeout(settings.timeout_s)
    sent, source = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, transport=transport, trust_env=False) as http,
        streamable_http_client(settings.url, http_client=http) as (received, sink),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(_watch_messages, received, sent, meter)
        async with ClientSession(source, sink, client_info=_introduce()) as session:
            await _greet(session, meter)
            yield SdkClient(session, meter)
        tasks.cancel_scope.cancel()


def _introduce() -> types.Implementation:
    return types.Implementation(name="orchestrate", version=__version__)


async def _greet(session: ClientSession, meter: SpeechMeter) -> None:
    try:
        await session.initialize()
    except (MCPError, ValidationError, RuntimeError) as error:
        if meter.problem is not None:
            raise meter.problem from error
        raise ServerProblem(
            ServerFailure.UNAVAILABLE, f"it cannot be greeted: {str(error)[:_PROBLEM_CHARS]}"
        ) from error


async def _read_pipes(pipes: ProcessPipes, sent: _SentStream, meter: SpeechMeter) -> None:
    """Pass on the messages of a program, one a line, until it ends or says too much."""
    buffer = bytearray()
    async with sent:
        try:
            while chunk := await pipes.receive_bytes():
                meter.count_bytes(len(chunk))
                buffer += chunk
                *lines, rest = buffer.split(b"\n")
                buffer = bytearray(rest)
                for line in lines:
                    await _pass_line(bytes(line), sent, meter)
        except ServerProblem:
            return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        meter.note_end()


async def _pass_line(line: bytes, sent: _SentStream, meter: SpeechMeter) -> None:
    """Pass on a message; a line that is none, such as a word on the way up, is passed over."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return
    await _pass_message(SessionMessage(message), sent, meter)


async def _pass_message(message: SessionMessage, sent: _SentStream, meter: SpeechMeter) -> None:
    if isinstance(message.message, types.JSONRPCRequest) and message.message.method != "ping":
        meter.count_request()
    await sent.send(message)


async def _write_pipes(pipes: ProcessPipes, written: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with written:
        async for one in written:
            text = one.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await pipes.send_bytes(text.encode("utf-8", "replace") + b"\n")
            except ProgramGone:
                return


async def _watch_messages(received: Any, sent: _SentStream, meter: SpeechMeter) -> None:  # noqa: ANN401  the SDK's own
    """Pass on the messages of a server at a url, and count what it asks for."""
    async with sent:
        try:
            async for one in received:
                if isinstance(one, SessionMessage):
                    await _pass_message(one, sent, meter)
                else:
                    await sent.send(one)
        except ServerProblem:
            return
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


class _MeteredTransport(httpx2.AsyncHTTPTransport):
    """HTTP whose answers are counted as they come in."""

    def __init__(self, meter: SpeechMeter) -> None:
        super().__init__()
        self._meter = meter

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer, of which no more is read than it may have."""
        response = await super().handle_async_request(request)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _MeteredStream(stream, self._meter)
        return response


class _MeteredStream(httpx2.AsyncByteStream):
    """The body of an answer."""

    def __init__(self, stream: httpx2.AsyncByteStream, meter: SpeechMeter) -> None:
        self._stream = stream
        self._meter = meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            try:
                self._meter.count_bytes(len(chunk))
            except ServerProblem as problem:
                raise httpx2.ReadError(str(problem)) from problem
            yield chunk

    async def aclose(self) -> None:
        """Close it."""
        await self._stream.aclose()


def _build_definition(tool: types.Tool) -> ToolDefinition:
    hints = tool.annotations or types.ToolAnnotations()
    return ToolDefinition(
        name=tool.name,
        description=tool.description or tool.title or "",
        schema_text=json.dumps(tool.input_schema, ensure_ascii=False, sort_keys=True),
        is_read_only=bool(hints.read_only_hint),
        is_idempotent=bool(hints.idempotent_hint),
    )


def _format_block(block: types.ContentBlock) -> str:
    """Return a part of an answer as text; what is no text is named and left out, and no link is followed."""
    match block:
        case types.TextContent():
            return block.text
        case types.ResourceLink():
            return f"[a link to {block.uri}, which was not followed]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case _:
            return f"[left out: {block.type}]"
