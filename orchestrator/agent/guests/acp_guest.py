"""A guest that speaks the Agent Client Protocol. Its files are the workspace's, its permissions a matter of rules.

The only module that loads the published package, whose models say what a message may hold.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from acp import schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel, ValidationError

from orchestrator import __version__
from orchestrator.agent.guests.acp_messages import (
    Message,
    MessageChannel,
    MethodNotOffered,
    ProtocolBroken,
    RequestRefusedByAgent,
    read_answer,
)
from orchestrator.agent.guests.acp_requests import AgentFiles, RequestRules, answer_permission
from orchestrator.agent.guests.acp_terminals import AgentTerminals, TerminalWish
from orchestrator.agent.guests.pieces import UNKNOWN_USAGE, GuestEnd, GuestPiece
from orchestrator.agent.guests.used import build_usage
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event.guests import MAX_AGENT_SESSION_CHARS
from orchestrator.domain.run.task import Exit
from orchestrator.errors import ProgramGone, ToolRefused
from orchestrator.ports.hands import ShellCommand, Workspace
from orchestrator.ports.processes import ProcessPipes

M = TypeVar("M", bound=BaseModel)

GREETING_S = 120.0
"""Seconds that an agent has to answer before it gets its task."""
_LOADING_S = 45.0
"""Of these, seconds that it has to go on with an earlier session; then it begins a new one."""
_PIECE_CHARS = 20_000
_PIECE_MESSAGES = 5_000
"""Messages after which a turn is over, whatever was said: so that turns bound them."""
_MAX_KNOWN_CALLS = 1_000
_MAX_PATHS, _MAX_PATH_CHARS = 50, 1_000
_MAX_WAITING = 64
_WAITING_S = 0.05
"""Seconds between two looks at commands whose end the agent waits for."""
_AUTH_REQUIRED = -32000
_INVALID_PARAMS = -32602
_STOPS = {
    "max_tokens": Exit.OUT_OF_TURNS,
    "max_turn_requests": Exit.OUT_OF_TURNS,
    "refusal": Exit.REFUSED,
    "cancelled": Exit.OUT_OF_TIME,
}


@dataclass(frozen=True)
class AgentGrants:
    """The grants of an agent: rules on what it asks for, the command that its terminals are like, and its output."""

    rules: RequestRules
    terminal: ShellCommand
    output_bytes: int


@dataclass(frozen=True)
class _KnownCall:
    """A call of a tool of the agent's own, as far as it has told of it."""

    title: str
    kind: str
    paths: tuple[str, ...]


class AcpGuest:
    """An agent in one session; implements `Guest`. Its `grants` decide on what it asks for."""

    def __init__(self, name: str, workspace: Workspace, pipes: ProcessPipes, grants: AgentGrants) -> None:
        self._name = name
        self._workspace = workspace
        self._grants = grants
        self._channel = MessageChannel(pipes, grants.output_bytes)
        self._cwd = ""
        self._files: AgentFiles | None = None
        self._terminals: AgentTerminals | None = None
        self._waiting: list[tuple[Message, str, AgentTerminals]] = []
        self._session: str | None = None
        self._prompt = 0
        self._text: list[str] = []
        self._text_chars = 0
        self._messages = 0
        self._calls: dict[str, _KnownCall] = {}
        self._cost: object = None
        self.is_loaded = False
        """True if the agent said that it goes on with an earlier session."""

    @property
    def agent_session(self) -> str:
        """The agent's name for its session; empty where that is too long to be kept."""
        name = self._session or ""
        return name if len(name) <= MAX_AGENT_SESSION_CHARS else ""

    async def open_session(self, earlier: str = "") -> GuestEnd | None:
        """Greet the agent and open a session, an `earlier` one where it can; return how that failed, None if not."""
        try:
            with anyio.fail_after(GREETING_S):
                self._cwd = await self._channel.read_line()
                greeting = await self._greet()
                if earlier and greeting.agent_capabilities and greeting.agent_capabilities.load_session:
                    await self._load_session(earlier)
                if not self.is_loaded:
                    params = {"cwd": self._cwd, "mcpServers": []}
                    self._session = (await self._ask("session_new", params, schema.NewSessionResponse)).session_id
        except TimeoutError:
            return self._fail(f"it did not answer within {GREETING_S:g} s")
        except (ProtocolBroken, ProgramGone) as error:
            return self._explain_failure(error)
        rules = self._grants.rules
        self._files = AgentFiles(self._workspace, self._cwd, rules)
        if self._offers_terminals:
            self._terminals = AgentTerminals(self._workspace, self._files, rules, self._grants.terminal)
        return None

    async def give_task(self, prompt: str) -> GuestEnd | None:
        """Give the agent its task; return how that failed, None once it is at work."""
        params = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        try:
            self._prompt = await self._channel.send_request(AGENT_METHODS["session_prompt"], params)
        except ProgramGone as error:
            return self._explain_failure(error)
        return None

    async def read_piece(self) -> GuestPiece:
        """Return what the agent says up to the next thing that it does; at its end, how it ended."""
        self._messages = 0
        try:
            while True:
                message = await self._read_message()
                self._messages += 1
                if "method" not in message and message.get("id") == self._prompt:
                    return self._take_piece(self._read_stop(read_answer(message)))
                is_over = await self._handle_message(message)
                if is_over or self._text_chars > _PIECE_CHARS or self._messages >= _PIECE_MESSAGES:
                    return self._take_piece(None)
        except (ProtocolBroken, ProgramGone) as error:
            return self._take_piece(self._explain_failure(error))

    async def ask_to_stop(self) -> None:
        """Cancel what the agent is at."""
        if self._session is not None:
            await self._channel.send_notification(AGENT_METHODS["session_cancel"], {"sessionId": self._session})

    async def end_commands(self) -> None:
        """End what the agent had run in terminals."""
        if self._terminals is not None:
            await self._terminals.kill_all()

    @property
    def _offers_terminals(self) -> bool:
        """True where a command can run beside the agent: it would wait for its end for ever elsewhere."""
        return not self._workspace.takes_turns

    async def _greet(self) -> schema.InitializeResponse:
        files = {"readTextFile": True, "writeTextFile": True}
        capabilities = {"fs": files, "terminal": self._offers_terminals}
        info = {"name": "orchestrate", "version": __version__}
        params = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": info}
        greeting = await self._ask("initialize", params, schema.InitializeResponse)
        if greeting.protocol_version != PROTOCOL_VERSION:
            raise ProtocolBroken(
                f"it speaks version {greeting.protocol_version} of the protocol, and not {PROTOCOL_VERSION}"
            )
        return greeting

    async def _load_session(self, earlier: str) -> None:
        """Have the agent go on with an earlier session, if it still has that; what it repeats of it is dropped."""
        params = {"sessionId": earlier, "cwd": self._cwd, "mcpServers": []}
        with anyio.move_on_after(_LOADING_S):
            try:
                await self._request("session_load", params)
            except RequestRefusedByAgent:
                return
            self._session, self.is_loaded = earlier, True

    async def _ask(self, method: str, params: Mapping[str, Any], kind: type[M]) -> M:
        try:
            return kind.model_validate(await self._request(method, params))
        except ValidationError as error:
            raise ProtocolBroken(f"its answer to {AGENT_METHODS[method]} cannot be read") from error

    async def _request(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401  any JSON
        """Return the answer to a request; what the agent says before it is no part of its work, and is dropped."""
        number = await self._channel.send_request(AGENT_METHODS[method], params)
        while True:
            message = await self._channel.read_message()
            if "method" in message:
                await self._handle_message(message)
                self._take_piece(None)
                self._calls.clear()
            elif message.get("id") == number:
                return read_answer(message)

    async def _read_message(self) -> Message:
        """Return the agent's next message; meanwhile tell it of the ends of commands that it waits for."""
        while True:
            if not self._waiting:
                return await self._channel.read_message()
            await self._answer_waiting()
            with anyio.move_on_after(_WAITING_S):
                return await self._channel.read_message()

    async def _answer_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for message, name, terminals in waiting:
            await self._answer_message(message, self._tell_exit(message, name, terminals))

    async def _handle_message(self, message: Message) -> bool:
        """Answer a request, or take what the agent says; return True if a turn is over with it."""
        method, params = message.get("method"), message.get("params")
        if method == CLIENT_METHODS["session_update"]:
            return self._take_update(params)
        if "id" in message:
            await self._answer_message(message, self._answer_request(message, method, params))
        return False

    async def _answer_message(self, message: Message, answering: Awaitable[Mapping[str, Any] | None]) -> None:
        """Send the answer to a request, or why it is refused; None stands for one that comes later."""
        try:
            answer = await answering
            if answer is not None:
                await self._channel.send_answer(message, answer)
        except ToolRefused as refusal:
            await self._channel.send_error(message, str(refusal), _INVALID_PARAMS)
        except ValidationError:
            await self._channel.send_error(message, "the parameters of this request cannot be read", _INVALID_PARAMS)
        except MethodNotOffered:
            await self._channel.send_error(message, "this is not offered here: use what is in your sandbox")

    async def _answer_request(self, message: Message, method: object, params: object) -> Mapping[str, Any] | None:
        if self._files is None:
            raise ToolRefused("Nothing is answered before there is a session.")
        if method == CLIENT_METHODS["fs_read_text_file"]:
            read = schema.ReadTextFileRequest.model_validate(params)
            return {"content": await self._files.read_text(read.path, read.line, read.limit)}
        if method == CLIENT_METHODS["fs_write_text_file"]:
            write = schema.WriteTextFileRequest.model_validate(params)
            await self._files.write_text(write.path, write.content)
            return {}
        if method == CLIENT_METHODS["session_request_permission"]:
            return await self._answer_permission(schema.RequestPermissionRequest.model_validate(params), self._files)
        if self._terminals is None:
            raise MethodNotOffered(method)
        return await self._answer_terminal(message, method, params, self._terminals)

    async def _answer_terminal(
        self, message: Message, method: object, params: object, terminals: AgentTerminals
    ) -> Mapping[str, Any] | None:
        if method == CLIENT_METHODS["terminal_create"]:
            wish = _read_wish(schema.CreateTerminalRequest.model_validate(params))
            name = await terminals.create_terminal(wish)
            self._add_text(f"\n[terminal: {wish.line[:200]}]\n")
            return {"terminalId": name}
        if method == CLIENT_METHODS["terminal_output"]:
            return await terminals.read_output(schema.TerminalOutputRequest.model_validate(params).terminal_id)
        if method == CLIENT_METHODS["terminal_wait_for_exit"]:
            wait = schema.WaitForTerminalExitRequest.model_validate(params)
            return await self._tell_exit(message, wait.terminal_id, terminals)
        if method == CLIENT_METHODS["terminal_kill"]:
            await terminals.kill_terminal(schema.KillTerminalRequest.model_validate(params).terminal_id)
            return {}
        if method == CLIENT_METHODS["terminal_release"]:
            await terminals.release_terminal(schema.ReleaseTerminalRequest.model_validate(params).terminal_id)
            return {}
        raise MethodNotOffered(method)

    async def _tell_exit(self, message: Message, name: str, terminals: AgentTerminals) -> Mapping[str, Any] | None:
        """Return how a terminal's command ended; None if it still runs, and the agent is told when it has ended."""
        answer = await terminals.find_exit(name)
        if answer is None:
            if len(self._waiting) >= _MAX_WAITING:
                raise ToolRefused(f"{_MAX_WAITING} ends of commands are waited for: wait for them first.")
            self._waiting.append((message, name, terminals))
        return answer

    async def _answer_permission(self, wish: schema.RequestPermissionRequest, files: AgentFiles) -> Mapping[str, Any]:
        call = self._note_call(wish.tool_call)
        options = {option.option_id: str(option.kind) for option in wish.options}
        paths = files.list_inner_paths(call.paths)
        answer = await answer_permission(self._grants.rules, call.kind, paths, options)
        words = f"refused: {answer.refusal[:500]}" if answer.refusal else options.get(answer.option or "", "")
        self._add_text(f"\n[asked leave: {call.title} → {words}]\n")
        if answer.option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": answer.option}}

    def _take_update(self, params: object) -> bool:
        try:
            update = schema.SessionNotification.model_validate(params).update
        except ValidationError:
            return False  # of a later version of the protocol, or of none
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._add_text(text)
            case schema.ToolCallStart():
                call = self._note_call(update)
                is_new_turn = bool("".join(self._text).strip())
                self._add_text(f"\n[{call.kind}: {call.title}]\n")
                return is_new_turn
            case schema.ToolCallProgress(status="failed"):
                self._add_text(f"\n[failed: {self._note_call(update).title}]\n")
            case schema.ToolCallProgress():
                self._note_call(update)
            case schema.UsageUpdate(cost=schema.Cost(currency="USD", amount=amount)):
                self._cost = amount
        return False

    def _note_call(self, told: schema.ToolCallStart | schema.ToolCallUpdate) -> _KnownCall:
        """Return what is known of a call, with what the agent tells now: what it tells later may leave out the rest."""
        name = told.tool_call_id[:200]
        known = self._calls.get(name, _KnownCall("something", "other", ()))
        title, kind, paths = (told.title or known.title)[:200], str(told.kind or known.kind), _list_paths(told)
        call = _KnownCall(title, kind, paths or known.paths)
        if len(self._calls) < _MAX_KNOWN_CALLS or name in self._calls:
            self._calls[name] = call
        return call

    def _add_text(self, text: str) -> None:
        self._text.append(text)
        self._text_chars += len(text)

    def _take_piece(self, end: GuestEnd | None) -> GuestPiece:
        text = "".join(self._text)
        self._text.clear()
        self._text_chars = 0
        return GuestPiece(text, end)

    def _read_stop(self, result: object) -> GuestEnd:
        try:
            answer = schema.PromptResponse.model_validate(result)
        except ValidationError:
            return self._fail("its answer to the task cannot be read")
        usage = self._read_usage(answer.usage)
        if answer.stop_reason in _STOPS:
            return GuestEnd(_STOPS[answer.stop_reason], f"the engine {self._name} stopped: {answer.stop_reason}", usage)
        return GuestEnd(Exit.FINISHED, usage=usage)

    def _read_usage(self, told: schema.Usage | None) -> Usage:
        if told is None:
            return build_usage(self._cost)
        return build_usage(self._cost, told.input_tokens, told.output_tokens)

    def _explain_failure(self, error: Exception) -> GuestEnd:
        if isinstance(error, RequestRefusedByAgent) and error.code == _AUTH_REQUIRED:
            return self._fail(f"it wants to be logged in ({error}): lend it its credentials under files or env")
        return self._fail(str(error))

    def _fail(self, why: str) -> GuestEnd:
        usage = build_usage(self._cost) if self._prompt else UNKNOWN_USAGE.model_copy(update={"unpriced_calls": 0})
        return GuestEnd(Exit.GUEST_FAILED, f"the engine {self._name} failed: {why}", usage)


def _read_wish(asked: schema.CreateTerminalRequest) -> TerminalWish:
    variables = {}
    for variable in asked.env or ():
        variables[variable.name] = variable.value
    return TerminalWish(asked.command, tuple(asked.args or ()), variables, asked.cwd, asked.output_byte_limit)


def _list_paths(told: schema.ToolCallStart | schema.ToolCallUpdate) -> tuple[str, ...]:
    """Return the files that a call names: where it works, and what it shows the changes of."""
    paths = dict[str, None]()
    for location in (told.locations or ())[:_MAX_PATHS]:
        paths[location.path[:_MAX_PATH_CHARS]] = None
    for content in (told.content or ())[:_MAX_PATHS]:
        if isinstance(content, schema.FileEditToolCallContent):
            paths[content.path[:_MAX_PATH_CHARS]] = None
    return tuple(paths)
