"""Thinking models on 127.0.0.1, one class for each family of providers, that keep that provider's published rules.

Each answers the n-th reply of a script to a conversation with n replies in it, and 400 to one in which earlier thinking
does not come back as the provider asks for it.
"""

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream

from tests.loopback.answers import CHARS_PER_TOKEN, Answer
from tests.loopback.server import GONE, read_request, write_answer

Json = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One reply: what is thought before it, and the tool that is called; `is_sealed` hides a second thought."""

    thinking: str
    tool: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    is_sealed: bool = False


class Refusal(Exception):
    """A request that breaks a rule of the provider."""


def sign(text: str) -> str:
    """A signature as providers make them: base64 with all its characters."""
    return base64.b64encode(b"\xfb\xff" + text.encode()).decode()


class Family(ABC):
    """A server of one family; `bodies` are the requests that it took, `refusals` what it said of others."""

    model: ClassVar[str]
    path: ClassVar[str]
    keeps_all_thinking: ClassVar[bool] = True
    """Every reply with a call has to bring its thinking back, also when what it looked at is left out."""

    def __init__(
        self,
        steps: Sequence[Step],
        down_at: Sequence[int] = (),
        secret: str = "",
        others: Mapping[str, Sequence[Step]] | None = None,
    ) -> None:
        """Play `steps`; at each number in `down_at` of replies that came before, the server is down once.

        `others` are played in conversations that hold a text. Thinking with `secret` in it may come back changed or
        not at all, but a request that holds the secret is refused.
        """
        self.steps = self._usual_steps = tuple(steps)
        self._others = dict(others or {})
        self.down_at = set(down_at)
        self.secret = secret
        self.input_tokens = 0
        self.bodies: list[Json] = []
        self.refusals: list[str] = []

    @asynccontextmanager
    async def run(self) -> AsyncIterator[str]:
        """Serve on a free port; yields the base URL for `api_base`."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
        async with listener, anyio.create_task_group() as group:
            group.start_soon(listener.serve, self._serve)
            yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"
            group.cancel_scope.cancel()

    async def _serve(self, stream: SocketStream) -> None:
        connection = h11.Connection(h11.SERVER)
        async with stream:
            try:
                while True:
                    request, body = await read_request(stream, connection)
                    if request is None:
                        return
                    await write_answer(stream, connection, self._answer(request.target.decode(), json.loads(body)))
                    connection.start_next_cycle()
            except (*GONE, h11.LocalProtocolError):
                return

    def _answer(self, target: str, body: Json) -> Answer:
        if self.path not in target:
            return self._refuse(f"nothing is served at {target}")
        text = json.dumps(body, ensure_ascii=False)
        if self._tells_secret(text):
            return self._refuse("a secret went out")
        self.input_tokens = len(text) // CHARS_PER_TOKEN
        self.steps = self._find_steps(text)
        try:
            done = self.check(body)
        except Refusal as refusal:
            return self._refuse(str(refusal))
        if done >= len(self.steps):
            return self._refuse("the script has no further reply")
        if done in self.down_at:
            self.down_at.remove(done)
            return Answer(503, b'{"error": {"message": "overloaded"}}')
        self.bodies.append(body)
        step = self.steps[done]
        if self.is_streamed(target, body):
            pieces = tuple(self.stream(done, step))
            return Answer(200, headers={"Content-Type": "text/event-stream"}, pieces=pieces)
        return Answer(200, json.dumps(self.reply(done, step)).encode())

    def _refuse(self, problem: str) -> Answer:
        self.refusals.append(problem)
        error = {"error": {"type": "invalid_request_error", "message": problem}, "type": "error"}
        return Answer(400, json.dumps(error).encode())

    def _find_steps(self, request: str) -> tuple[Step, ...]:
        for marker, steps in self._others.items():
            if marker in request:
                return tuple(steps)
        return self._usual_steps

    def _tells_secret(self, request: str) -> bool:
        if not self.secret:
            return False
        secrets = [sign(step.thinking) for step in self.steps if self.secret in step.thinking]
        return any(secret in request for secret in [self.secret, *secrets])

    def holds_secret(self, place: int) -> bool:
        """Return True if what was thought before a reply must not come back as it was."""
        return bool(self.secret) and self.secret in self.steps[place].thinking

    def is_streamed(self, target: str, body: Json) -> bool:
        """Whether the reply is to come in pieces."""
        return bool(body.get("stream"))

    @abstractmethod
    def check(self, body: Json) -> int:
        """Return how many replies the conversation holds already; raise Refusal if it breaks a rule."""

    @abstractmethod
    def reply(self, place: int, step: Step) -> Json:
        """Return a reply that comes at once."""

    @abstractmethod
    def stream(self, place: int, step: Step) -> Sequence[bytes]:
        """Return a reply in pieces."""


def event(value: Json, kind: str = "") -> bytes:
    """A piece of a streamed reply."""
    head = f"event: {kind}\n" if kind else ""
    return f"{head}data: {json.dumps(value)}\n\n".encode()


class Anthropic(Family):
    """Messages: with thinking on, each reply of the open tool loop begins with its signed blocks, unchanged."""

    model = "anthropic/claude-sonnet-4-5"
    path = "/v1/messages"

    def thoughts(self, step: Step) -> list[Json]:
        blocks: list[Json] = [{"type": "thinking", "thinking": step.thinking, "signature": sign(step.thinking)}]
        if step.is_sealed:
            blocks.append({"type": "redacted_thinking", "data": sign(f"sealed {step.thinking}")})
        return blocks

    def check(self, body: Json) -> int:
        is_thinking = body.get("thinking", {}).get("type") in {"enabled", "adaptive"}
        replies = [message["content"] for message in body["messages"] if message["role"] == "assistant"]
        for place, blocks in enumerate(replies):
            kinds = [block["type"] for block in blocks]
            thought = [block for block in blocks if "thinking" in block["type"]]
            if not is_thinking and thought:
                raise Refusal("When thinking is disabled, an assistant message cannot contain thinking")
            if is_thinking and "tool_use" in kinds and "thinking" not in kinds[0]:
                raise Refusal(f"Expected `thinking` or `redacted_thinking`, but found `{kinds[0]}`")
            if is_thinking and thought != self.thoughts(self.steps[place]):
                raise Refusal(f"messages.{place}: Invalid `signature` in `thinking` block")
        return len(replies)

    def reply(self, place: int, step: Step) -> Json:
        use = {"type": "tool_use", "id": f"toolu_{place}", "name": step.tool, "input": dict(step.arguments)}
        thoughts = self.thoughts(step) if step.thinking else []
        usage = {"input_tokens": self.input_tokens, "output_tokens": 50}
        shared = {"id": f"msg_{place}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
        return {**shared, "content": [*thoughts, use], "stop_reason": "tool_use", "usage": usage}

    def stream(self, place: int, step: Step) -> Sequence[bytes]:
        whole = self.reply(place, step)
        pieces = [event({"type": "message_start", "message": {**whole, "content": []}}, "message_start")]
        for index, block in enumerate(whole["content"]):
            begun, deltas = self._divide(block)
            start = {"type": "content_block_start", "index": index, "content_block": begun}
            pieces.append(event(start, "content_block_start"))
            for delta in deltas:
                piece = {"type": "content_block_delta", "index": index, "delta": delta}
                pieces.append(event(piece, "content_block_delta"))
            pieces.append(event({"type": "content_block_stop", "index": index}, "content_block_stop"))
        ended = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": whole["usage"]}
        return [*pieces, event(ended, "message_delta"), event({"type": "message_stop"}, "message_stop")]

    def _divide(self, block: Json) -> tuple[Json, list[Json]]:
        match block["type"]:
            case "thinking":
                text, half = block["thinking"], len(block["thinking"]) // 2
                deltas = [{"type": "thinking_delta", "thinking": part} for part in (text[:half], text[half:])]
                signed = {"type": "signature_delta", "signature": block["signature"]}
                return {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed]
            case "tool_use":
                arguments = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
                return {**block, "input": {}}, [arguments]
        return block, []


class ChatCompletions(Family):
    """OpenAI's chat completions; this server thinks aloud in `field`, and takes that back unchanged or not at all."""

    field = "reasoning_content"
    model = "openai/thinker"
    path = "/chat/completions"
    keeps_all_thinking = False
    known = frozenset({"role", "content", "tool_calls", "tool_call_id", "reasoning_content"})

    def thought(self, step: Step) -> Json:
        return {self.field: step.thinking}

    def check(self, body: Json) -> int:
        replies = [message for message in body["messages"] if message["role"] == "assistant"]
        for message in body["messages"]:
            if unknown := message.keys() - self.known:
                raise Refusal(f"property {sorted(unknown)} is unsupported")
        for place, message in enumerate(replies):
            self.check_reply(place, message)
        return len(replies)

    def check_reply(self, place: int, message: Json) -> None:
        """Refuse a reply that came back otherwise than it was given."""
        thought = message.get("reasoning_content", self.steps[place].thinking)
        if thought != self.steps[place].thinking and not self.holds_secret(place):
            raise Refusal("the reasoning_content of the assistant was changed")

    def reply(self, place: int, step: Step) -> Json:
        function = {"name": step.tool, "arguments": json.dumps(dict(step.arguments))}
        calls = [{"id": f"call_{place}", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls, **self.thought(step)}
        usage = {"prompt_tokens": self.input_tokens, "completion_tokens": 50, "total_tokens": self.input_tokens + 50}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        shared = {"id": f"c{place}", "object": "chat.completion", "created": 1, "model": "thinker"}
        return {**shared, "choices": [choice], "usage": usage}

    def stream(self, place: int, step: Step) -> Sequence[bytes]:
        whole = self.reply(place, step)
        message = whole["choices"][0]["message"]
        deltas: list[Json] = [{"role": "assistant", "content": ""}, *self.divide_thought(step)]
        deltas.append({"tool_calls": [{**call, "index": 0} for call in message["tool_calls"]]})
        frame = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": "thinker"}
        chunks = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
        chunks.append({**frame, "choices": [], "usage": whole["usage"]})
        return [*map(event, chunks), b"data: [DONE]\n\n"]

    def divide_thought(self, step: Step) -> list[Json]:
        """The thinking of a streamed reply, in two pieces."""
        half = len(step.thinking) // 2
        return [{self.field: part} for part in (step.thinking[:half], step.thinking[half:])]


class Vllm(ChatCompletions):
    """vLLM's newer name for the field; it takes the older one."""

    field = "reasoning"
    model = "hosted_vllm/thinker"


class DeepSeek(ChatCompletions):
    """Every reply that called a tool has to bring its `reasoning_content`, an empty one too; another's may be blank."""

    model = "deepseek/deepseek-reasoner"
    keeps_all_thinking = True

    def check_reply(self, place: int, message: Json) -> None:
        if not message.get("reasoning_content"):
            raise Refusal("The reasoning_content in the thinking mode must be passed back to the API.")
        if message["reasoning_content"] not in (" ", self.steps[place].thinking) and not self.holds_secret(place):
            raise Refusal("the reasoning_content of the assistant was changed")


class OpenAi(ChatCompletions):
    """OpenAI thinks in secret: nothing of it comes, and a message with a field of another provider's is refused."""

    known = frozenset({"role", "content", "tool_calls", "tool_call_id"})

    def thought(self, step: Step) -> Json:
        return {}

    def divide_thought(self, step: Step) -> list[Json]:
        return []

    def check_reply(self, place: int, message: Json) -> None:
        for call in message["tool_calls"]:
            if len(call["id"]) > 40:
                raise Refusal("'tool_calls[0].id': string too long. Expected a string with maximum length 40")


class OpenRouter(ChatCompletions):
    """`reasoning_details` go back unmodified, in their sequence."""

    field = "reasoning"
    keeps_all_thinking = True
    model = "openrouter/anthropic/claude-sonnet-4.5"
    known = ChatCompletions.known | {"reasoning_details", "reasoning", "cache_control"}

    def details(self, step: Step) -> list[Json]:
        text = {"type": "reasoning.text", "text": step.thinking, "signature": sign(step.thinking)}
        return [
            {**text, "format": "anthropic-claude-v1", "index": 0},
            {"type": "reasoning.encrypted", "data": sign("sealed"), "id": "r1", "index": 1},
        ]

    def thought(self, step: Step) -> Json:
        return {"reasoning": step.thinking, "reasoning_details": self.details(step)}

    def divide_thought(self, step: Step) -> list[Json]:
        text, sealed = self.details(step)
        first = {**text, "text": step.thinking[:3], "signature": None}
        last = {**text, "text": step.thinking[3:]}
        pieces = [(step.thinking[:3], first), (step.thinking[3:], last), ("", sealed)]
        return [{"reasoning": said, "reasoning_details": [detail]} for said, detail in pieces]

    def check_reply(self, place: int, message: Json) -> None:
        if message.get("reasoning_details") != self.details(self.steps[place]) and not self.holds_secret(place):
            raise Refusal(f"reasoning_details were changed: {message.get('reasoning_details')}")


class Gemini(Family):
    """generateContent: the first call of each reply brings back the signature that came with it.

    In the place of a call that another model made the published stand-in is taken.
    """

    model = "gemini/gemini-3-pro-preview"
    path = "enerateContent"
    stand_in = base64.b64encode(b"skip_thought_signature_validator").decode()

    def check(self, body: Json) -> int:
        replies = [content["parts"] for content in body["contents"] if content["role"] == "model"]
        for place, parts in enumerate(replies):
            calls = [part for part in parts if "functionCall" in part or "function_call" in part]
            if not calls or "thoughtSignature" not in calls[0]:
                raise Refusal("Function call is missing a thought_signature in functionCall parts.")
            if calls[0]["thoughtSignature"] not in (sign(self.steps[place].thinking), self.stand_in):
                raise Refusal("Invalid thought signature.")
        return len(replies)

    def is_streamed(self, target: str, body: Json) -> bool:
        return "stream" in target

    def reply(self, place: int, step: Step) -> Json:
        call = {"functionCall": {"name": step.tool, "args": dict(step.arguments)}}
        parts = [{"text": step.thinking, "thought": True}, {**call, "thoughtSignature": sign(step.thinking)}]
        usage = {
            "promptTokenCount": self.input_tokens,
            "candidatesTokenCount": 50,
            "totalTokenCount": self.input_tokens + 50,
        }
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro-preview"}

    def stream(self, place: int, step: Step) -> Sequence[bytes]:
        whole = self.reply(place, step)
        thought, call = whole["candidates"][0]["content"]["parts"]
        first = {"candidates": [{"content": {"role": "model", "parts": [thought]}, "index": 0}]}
        whole["candidates"][0]["content"]["parts"] = [call]
        return [event(first), event(whole)]


class Responses(Family):
    """OpenAI's Responses: the encrypted item of thinking stands before the call that came with it."""

    model = "openai/responses/gpt-5"
    path = "/responses"

    def thought(self, place: int) -> Json:
        step = self.steps[place]
        summary = [{"type": "summary_text", "text": step.thinking}]
        return {"type": "reasoning", "id": f"rs_{place}", "summary": summary, "encrypted_content": sign(step.thinking)}

    def check(self, body: Json) -> int:
        items, place = body["input"], 0
        for before, item in pairwise(items):
            if item["type"] == "function_call":
                if before != self.thought(place) and not self.holds_secret(place):
                    raise Refusal("'function_call' was provided without its required 'reasoning' item")
                place += 1
        return place

    def reply(self, place: int, step: Step) -> Json:
        arguments = json.dumps(dict(step.arguments))
        call = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}", "name": step.tool}
        output = [self.thought(place), {**call, "arguments": arguments, "status": "completed"}]
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 5}}
        usage = {
            "input_tokens": self.input_tokens,
            "output_tokens": 50,
            "total_tokens": self.input_tokens + 50,
            **details,
        }
        shared = {"id": f"resp_{place}", "object": "response", "created_at": 1, "status": "completed", "tools": []}
        more = {"model": "gpt-5", "parallel_tool_calls": True, "tool_choice": "auto"}
        return {**shared, **more, "output": output, "usage": usage}

    def stream(self, place: int, step: Step) -> Sequence[bytes]:
        whole = self.reply(place, step)
        call = whole["output"][1]
        events: list[Json] = [
            {"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 1, "item": {**call, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "item_id": call["id"], "output_index": 1},
            {"type": "response.output_item.done", "output_index": 1, "item": call},
            {"type": "response.completed", "response": whole},
        ]
        events[2]["delta"] = call["arguments"]
        return [event({**one, "sequence_number": number}) for number, one in enumerate(events)]


FAMILIES: tuple[type[Family], ...] = (Anthropic, DeepSeek, ChatCompletions, Vllm, OpenAi, Responses, OpenRouter, Gemini)
