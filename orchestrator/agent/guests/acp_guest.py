"""A guest that speaks the Agent Client Protocol. Its files are the workspace's, its permissions a matter of rules.

The only module that loads the published package, whose models say what a message may hold.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import anyio
from acp import schema
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION
from pydantic import BaseModel, ValidationError

from orchestrator import __version__
from orchestrator.agent.guests.acp_messages import (
    Message,
    MessageChannel,
    ProtocolBroken,
    RequestRefusedByAgent,
    read_answer,
)
from orchestrator.agent.guests.acp_requests import AgentFiles, choose_option
from orchestrator.agent.guests.pieces import UNKNOWN_USAGE, GuestEnd, GuestPiece
from orchestrator.agent.guests.used import build_usage
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.run.task import Exit
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import ProgramGone, ToolRefused
from orchestrator.ports.hands import Workspace
from orchestrator.ports.processes import ProcessPipes

M = TypeVar("M", bound=BaseModel)

GREETING_S = 120.0
"""Seconds that an agent has to answer before it gets its task."""
_PIECE_CHARS = 20_000
_AUTH_REQUIRED = -32000
_INVALID_PARAMS = -32602
_STOPS = {
    "max_tokens": Exit.OUT_OF_TURNS,
    "max_turn_requests": Exit.OUT_OF_TURNS,
    "refusal": Exit.REFUSED,
    "cancelled": Exit.OUT_OF_TIME,
}


class AcpGuest:
    """An agent in one session; implements `Guest`. At its `tier` permissions are given or refused."""

    def __init__(self, name: str, tier: Tier, workspace: Workspace, pipes: ProcessPipes) -> None:
        self._name = name
        self._tier = tier
        self._workspace = workspace
        self._channel = MessageChannel(pipes)
        self._files: AgentFiles | None = None
        self._session = ""
        self._prompt = 0
        self._text: list[str] = []
        self._titles: dict[str, str] = {}
        self._cost: object = None

    async def begin_session(self, prompt: str) -> GuestEnd | None:
        """Greet the agent and give it the task; return how it failed, None once it is at work."""
        try:
            with anyio.fail_after(GREETING_S):
                cwd = await self._channel.read_line()
                self._files = AgentFiles(self._workspace, cwd)
                await self._greet()
                created = await self._ask("session_new", {"cwd": cwd, "mcpServers": []}, schema.NewSessionResponse)
            self._session = created.session_id
            content = [{"type": "text", "text": prompt}]
            params = {"sessionId": self._session, "prompt": content}
            self._prompt = await self._channel.send_request(AGENT_METHODS["session_prompt"], params)
        except TimeoutError:
            return self._fail(f"it did not answer within {GREETING_S:g} s")
        except (ProtocolBroken, ProgramGone) as error:
            return self._explain_failure(error)
        return None

    async def read_piece(self) -> GuestPiece:
        """Return what the agent says up to the next thing that it does; at its end, how it ended."""
        try:
            while True:
                message = await self._channel.read_message()
                if "method" not in message and message.get("id") == self._prompt:
                    return self._take_piece(self._read_stop(read_answer(message)))
                if await self._handle_message(message) or sum(map(len, self._text)) > _PIECE_CHARS:
                    return self._take_piece(None)
        except (ProtocolBroken, ProgramGone) as error:
            return self._take_piece(self._explain_failure(error))

    async def ask_to_stop(self) -> None:
        """Cancel what the agent is at."""
        if self._session:
            await self._channel.send_notification(AGENT_METHODS["session_cancel"], {"sessionId": self._session})

    async def _greet(self) -> None:
        capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}
        info = {"name": "orchestrate", "version": __version__}
        params = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": info}
        greeting = await self._ask("initialize", params, schema.InitializeResponse)
        if greeting.protocol_version != PROTOCOL_VERSION:
            raise ProtocolBroken(
                f"it speaks version {greeting.protocol_version} of the protocol, and not {PROTOCOL_VERSION}"
            )

    async def _ask(self, method: str, params: Mapping[str, Any], kind: type[M]) -> M:
        number = await self._channel.send_request(AGENT_METHODS[method], params)
        while True:
            message = await self._channel.read_message()
            if "method" in message:
                await self._handle_message(message)
            elif message.get("id") == number:
                try:
                    return kind.model_validate(read_answer(message))
                except ValidationError as error:
                    raise ProtocolBroken(f"its answer to {AGENT_METHODS[method]} cannot be read") from error

    async def _handle_message(self, message: Message) -> bool:
        """Answer a request, or take what the agent says; return True if a turn is over with it."""
        method, params = message.get("method"), message.get("params")
        if method == CLIENT_METHODS["session_update"]:
            return self._take_update(params)
        if "id" not in message:
            return False
        try:
            await self._channel.send_answer(message, await self._answer_request(method, params))
        except ToolRefused as refusal:
            await self._channel.send_error(message, str(refusal), _INVALID_PARAMS)
        except ValidationError:
            await self._channel.send_error(message, f"the parameters of {method} cannot be read", _INVALID_PARAMS)
        except NotImplementedError:
            await self._channel.send_error(message, f"{method} is not offered here: use what is in your sandbox")
        return False

    async def _answer_request(self, method: object, params: object) -> Mapping[str, Any]:
        if self._files is None:
            raise NotImplementedError
        if method == CLIENT_METHODS["fs_read_text_file"]:
            read = schema.ReadTextFileRequest.model_validate(params)
            return {"content": await self._files.read_text(read.path, read.line, read.limit)}
        if method == CLIENT_METHODS["fs_write_text_file"]:
            write = schema.WriteTextFileRequest.model_validate(params)
            await self._files.write_text(write.path, write.content)
            return {}
        if method == CLIENT_METHODS["session_request_permission"]:
            wish = schema.RequestPermissionRequest.model_validate(params)
            kinds = {option.option_id: str(option.kind) for option in wish.options}
            chosen = choose_option(str(wish.tool_call.kind or "other"), kinds, self._tier)
            title = wish.tool_call.title or self._titles.get(wish.tool_call.tool_call_id, "something")
            self._text.append(f"\n[asked leave: {title[:200]} → {kinds.get(chosen or '', 'refused')}]\n")
            if chosen is None:
                return {"outcome": {"outcome": "cancelled"}}
            return {"outcome": {"outcome": "selected", "optionId": chosen}}
        raise NotImplementedError

    def _take_update(self, params: object) -> bool:
        try:
            update = schema.SessionNotification.model_validate(params).update
        except ValidationError:
            return False  # of a later version of the protocol, or of none
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._text.append(text)
            case schema.ToolCallStart():
                self._titles[update.tool_call_id] = update.title[:200]
                is_new_turn = bool("".join(self._text).strip())
                self._text.append(f"\n[{update.kind or 'tool'}: {update.title[:200]}]\n")
                return is_new_turn
            case schema.ToolCallProgress(status="failed"):
                self._text.append(f"\n[failed: {self._titles.get(update.tool_call_id, update.tool_call_id)[:200]}]\n")
            case schema.UsageUpdate(cost=schema.Cost(currency="USD", amount=amount)):
                self._cost = amount
        return False

    def _take_piece(self, end: GuestEnd | None) -> GuestPiece:
        text = "".join(self._text)
        self._text.clear()
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
