"""One server in one conversation: started when a tool of it is first used, and dead when the conversation ends."""

import os
import shlex
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from orchestrator.agent.mcp.server_limits import MAX_STARTS, ServerProblem, SpeechMeter
from orchestrator.config.mcp import McpServerSettings
from orchestrator.domain.mcp.tool_definition import ServerFailure, ToolDefinition
from orchestrator.domain.policy.rules import HostRules
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.ports.hands import ShellCommand, Workspace
from orchestrator.ports.processes import HostGrant, ProcessPipes, ProgramGrant

if TYPE_CHECKING:
    from orchestrator.agent.mcp.sdk_client import SdkClient, ServerAnswer

A = TypeVar("A")
GREETING_S = 60.0
"""Seconds that a server has to start and to say which tools it has."""
_LONGEST_S = 7 * 24 * 3_600.0
_MIB = 1024 * 1024
_LOG_BYTES = 4 * _MIB
_TAIL_BYTES = 600


class ServerConnection:
    """A server as one conversation speaks with it. Nothing is started before `list_tools` or `call_tool`."""

    def __init__(
        self,
        settings: McpServerSettings,
        workspace: Workspace | None,
        tasks: TaskGroup,
        host_rules: Callable[[], HostRules | None] = lambda: None,
    ) -> None:
        self.settings = settings
        self._workspace = workspace
        self._tasks = tasks
        self._host_rules = host_rules
        self._client: SdkClient | None = None
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._starts = 0
        self._meter = SpeechMeter(settings)

    @property
    def requests(self) -> int:
        """The things that the server asked for since it was started; all of them were refused."""
        return self._meter.requests

    @property
    def is_open(self) -> bool:
        """True while the server has been greeted and is listened to."""
        return self._client is not None and self._meter.problem is None

    async def list_tools(self) -> tuple[ToolDefinition, ...]:
        """Start the server if it is not, and return the definitions of its tools.

        Raises:
            ServerProblem: it does not start, or does not answer.
            ToolRefused, EnvironmentProblem: it cannot be run here.
        """
        client = await self._require_client()
        return await self._await_answer(client.list_tools, GREETING_S)

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> "ServerAnswer":
        """Return the answer of a tool; a server that does not give one is ended, and started again by the next call.

        Raises:
            ServerProblem: there is no answer.
            ToolRefused, EnvironmentProblem: it cannot be run here.
        """
        client = await self._require_client()
        return await self._await_answer(lambda: client.call_tool(name, dict(arguments)), self.settings.timeout_s)

    async def end_server(self) -> None:
        """End the server with everything that it started."""
        if self._starts and not self._ended.is_set():
            self._scope.cancel()
            await self._ended.wait()

    async def _await_answer(self, ask: Callable[[], Awaitable[A]], limit_s: float) -> A:
        try:
            with anyio.fail_after(limit_s):
                return await ask()
        except TimeoutError as error:
            await self.end_server()
            raise ServerProblem(ServerFailure.TIMED_OUT, f"it did not answer within {limit_s:g} s") from error
        except ServerProblem:
            if self._meter.problem is not None:
                await self.end_server()
            raise

    async def _require_client(self) -> "SdkClient":
        if self.is_open and self._client is not None:
            return self._client
        await self.end_server()
        if self._starts >= MAX_STARTS:
            raise ServerProblem(
                ServerFailure.UNAVAILABLE, f"it was started {MAX_STARTS} times already, and is not started again"
            )
        self._starts += 1
        self._meter, self._ended, self._scope = SpeechMeter(self.settings), anyio.Event(), anyio.CancelScope()
        await self._start_server()
        if self._client is None:
            raise self._meter.problem or ServerProblem(ServerFailure.UNAVAILABLE, "it could not be started")
        return self._client

    async def _start_server(self) -> None:
        from orchestrator.agent.mcp import sdk_client  # the SDK takes half a second to load

        if self.settings.url:
            token = os.environ.get(self.settings.token_env, "") if self.settings.token_env else ""
            opened = sdk_client.open_http_client(self.settings, token, self._meter)
            call_id = ""
        else:
            call_id = f"mcp-{self.settings.name}-{uuid4().hex}"
            with ExitStack() as failing:
                failing.callback(self._ended.set)
                opened = sdk_client.open_piped_client(await self._open_pipes(call_id), self._meter)
                failing.pop_all()
        ready = anyio.Event()
        self._tasks.start_soon(self._hold_open, opened, call_id, ready)
        with anyio.move_on_after(GREETING_S):
            await ready.wait()
            return
        await self.end_server()
        raise ServerProblem(ServerFailure.TIMED_OUT, f"it was not ready within {GREETING_S:g} s")

    async def _open_pipes(self, call_id: str) -> ProcessPipes:
        if self._workspace is None:
            raise ServerProblem(ServerFailure.UNAVAILABLE, "there is no workspace here in which it could run")
        return await self._workspace.open_process(call_id, build_server_command(self.settings, self._host_rules()))

    async def _hold_open(
        self, opened: AbstractAsyncContextManager["SdkClient"], call_id: str, ready: anyio.Event
    ) -> None:
        """Keep the conversation with the server, until it breaks or the server is to end."""
        try:
            with self._scope:
                await self._speak(opened, ready)
        finally:
            self._client = None
            with anyio.CancelScope(shield=True):
                if call_id and self._workspace is not None:
                    await self._workspace.kill_command(call_id)
                    await self._explain_end(self._workspace, call_id)
            ready.set()
            self._ended.set()

    async def _speak(self, opened: AbstractAsyncContextManager["SdkClient"], ready: anyio.Event) -> None:
        try:
            async with opened as client:
                self._client = client
                ready.set()
                await anyio.sleep_forever()
        except Exception as error:  # noqa: BLE001 - whatever a server makes the SDK do: only that server ends by it
            if self._meter.problem is None:
                self._meter.problem = _find_problem(error)

    async def _explain_end(self, workspace: Workspace, call_id: str) -> None:
        """Add to the problem of a server that ended by itself what it printed as errors."""
        problem = self._meter.problem
        result = await workspace.wait_for_result(call_id, 1.0)
        if problem is None or problem.failure != ServerFailure.GONE or result is None:
            return
        printed = await to_thread.run_sync(_read_tail, result.log)
        text = f"it has ended ({result.detail or result.ending}): {printed or 'it printed nothing'}"
        self._meter.problem = ServerProblem(ServerFailure.GONE, text)


def build_server_command(
    settings: McpServerSettings, host_rules: HostRules | None = None, environ: Mapping[str, str] = os.environ
) -> ShellCommand:
    """Return the command that runs a server, with what its user grants it; it sees the workspace read-only."""
    hosts = HostGrant(
        hosts=settings.hosts,
        private=settings.private_hosts,
        plain=settings.plain_hosts,
        budget_bytes=settings.traffic_mb * _MIB,
    )
    secrets = {name: environ[name] for name in settings.env if environ.get(name)}
    read_only = tuple(str(Path(folder).expanduser()) for folder in settings.read_only)
    program, *others = settings.command
    words = [str(Path(program).expanduser()), *others]
    return ShellCommand(
        line=f"exec {shlex.join(words)}",
        env=dict(settings.vars),
        timeout_s=_LONGEST_S,
        output_bytes=_LOG_BYTES,
        writable=False,
        tier=settings.tier,
        is_agent=True,
        host_rules=host_rules,
        grant=ProgramGrant(hosts=hosts, secrets=secrets, read_only=read_only),
        is_background=True,
    )


def _read_tail(log: Path) -> str:
    """Return the end of what a program printed, on one line. Blocks."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
            return to_one_line(file.read().decode("utf-8", "replace"), _TAIL_BYTES)
    except OSError:
        return ""


def _find_problem(error: BaseException) -> ServerProblem:
    """Return the problem of a server in what the SDK raised, which may be a group of errors."""
    if isinstance(error, ServerProblem):
        return error
    if isinstance(error, BaseExceptionGroup):
        return _find_problem(error.exceptions[0])
    text = str(error)[:500] or type(error).__name__
    return ServerProblem(ServerFailure.UNAVAILABLE, f"speaking with it failed: {text}")
