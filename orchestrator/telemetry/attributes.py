"""The attributes of spans: those of the semantic conventions for generative AI, and our own below `orchestrate.`."""

import json
from collections.abc import Mapping, Sequence

from orchestrator.domain.event.work import ModelCalled, ModelReplied, SessionStarted, ToolCalled, ToolReturned
from orchestrator.domain.identity import LOOP_ENGINE, AgentIdentity, hide_model_path
from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.domain.judging.check import Receipt, ReceiptStatus
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.telemetry.span import AttributeValue

_PROVIDERS = {
    "gemini": "gcp.gemini",
    "vertex_ai": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "watsonx": "ibm.watsonx.ai",
    "cohere_chat": "cohere",
}
"""By the name before the slash in a model's, the provider's by the conventions; all others have the same."""
_UNNAMED_PROVIDER = "litellm"
_TOOL_CHARS = 100
_MAX_UNITS = 100
_FAILED = "failed"


def find_provider_name(model: str, engine: str = LOOP_ENGINE) -> str:
    """Return the provider of a model by the conventions: `anthropic` for `anthropic/claude-sonnet-4-5`.

    An agent of another maker calls models itself, and does not tell whose: there it is the name of its engine.
    """
    if engine not in ("", LOOP_ENGINE):
        return engine
    name = hide_model_path(model)
    provider, slash, _ = name.partition("/")
    if not slash:
        return name if name == "scripted" else _UNNAMED_PROVIDER
    return _PROVIDERS.get(provider, provider)


def build_identity_attributes(identity: AgentIdentity) -> dict[str, AttributeValue]:
    """Return an agent's identity as attributes; what is not known has none."""
    named: dict[str, AttributeValue] = {
        "orchestrate.run.id": identity.run,
        "orchestrate.task.id": identity.task or "",
        "orchestrate.attempt.number": identity.attempt,
        "orchestrate.agent.role": identity.role,
        "orchestrate.agent.model": hide_model_path(identity.model),
        "orchestrate.agent.engine": identity.engine,
        "orchestrate.policy.hash": identity.policy,
    }
    return {name: value for name, value in named.items() if value}


def build_model_attributes(model: str, engine: str) -> dict[str, AttributeValue]:
    """Return which model is asked, and of which provider."""
    return {"gen_ai.provider.name": find_provider_name(model, engine), "gen_ai.request.model": hide_model_path(model)}


def build_session_attributes(event: SessionStarted, engine: str, *, has_content: bool) -> dict[str, AttributeValue]:
    """Return the attributes of a conversation; its first words only where content may be sent."""
    attributes = build_model_attributes(event.model, engine)
    attributes["gen_ai.operation.name"] = "invoke_agent"
    attributes["gen_ai.agent.name"] = event.role
    attributes["gen_ai.conversation.id"] = event.session
    if has_content:
        attributes["gen_ai.system_instructions"] = json.dumps([_build_text_part(event.system.head)])
        attributes["gen_ai.input.messages"] = _format_message("user", [_build_text_part(event.brief.head)])
    return attributes


def build_call_attributes(event: ModelCalled, engine: str) -> dict[str, AttributeValue]:
    """Return the attributes of a model call that begins."""
    attributes = build_model_attributes(event.model, engine)
    attributes["gen_ai.operation.name"] = "chat"
    attributes["gen_ai.conversation.id"] = event.session
    return attributes


def build_reply_attributes(event: ModelReplied, *, has_content: bool) -> dict[str, AttributeValue]:
    """Return the attributes of a model's answer; its words only where content may be sent."""
    usage = event.usage
    attributes: dict[str, AttributeValue] = {
        "gen_ai.response.model": hide_model_path(event.model),
        "gen_ai.response.finish_reasons": (event.finish_reason,),
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
    }
    if usage.usd is not None:
        attributes["orchestrate.cost.usd"] = usage.usd
    if has_content:
        parts = _list_reply_parts(event)
        attributes["gen_ai.output.messages"] = _format_message("assistant", parts, event.finish_reason)
    return attributes


def build_tool_attributes(event: ToolCalled, *, has_content: bool) -> dict[str, AttributeValue]:
    """Return the attributes of a tool's use; its arguments only where content may be sent."""
    attributes: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": to_one_line(event.name, _TOOL_CHARS),
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": event.session,
    }
    if event.tier is not None:
        attributes["orchestrate.tool.tier"] = int(event.tier)
    if has_content:
        attributes["gen_ai.tool.call.arguments"] = event.arguments.head
    return attributes


def build_result_attributes(event: ToolReturned, *, has_content: bool) -> dict[str, AttributeValue]:
    """Return the attributes of a tool's result; its words only where content may be sent."""
    attributes: dict[str, AttributeValue] = {"gen_ai.tool.call.id": event.call_id}
    if has_content:
        attributes["gen_ai.tool.call.result"] = event.observation.head
    return attributes


def build_landing_attributes(
    commit: CommitId, units: Sequence[UnitId], attempts: Sequence[UnitId]
) -> dict[str, AttributeValue]:
    """Return the attributes of a landing; a migration's units are files, of which only the number is sent."""
    attributes: dict[str, AttributeValue] = {
        "orchestrate.landing.commit": commit,
        "orchestrate.landing.unit_count": len(units),
    }
    if attempts:
        attributes["orchestrate.landing.units"] = tuple(attempts[:_MAX_UNITS])
    return attributes


def build_check_error(receipt: Receipt) -> str:
    """Return the `error.type` of a check that ran: `failed` of a red one, else what stopped it; empty if green."""
    if receipt.status != ReceiptStatus.COMPLETED:
        return str(receipt.status)
    if receipt.exit_code != 0:
        return _FAILED
    return ""


def _list_reply_parts(event: ModelReplied) -> list[dict[str, str]]:
    """Return the parts of an answer: its words, and which tools it asks for; their own spans have the arguments."""
    parts = []
    if event.text.head:
        parts.append(_build_text_part(event.text.head))
    for call in event.tool_calls:
        parts.append({"type": "tool_call", "id": call.id, "name": call.name})
    return parts


def _format_message(role: str, parts: Sequence[Mapping[str, str]], finish_reason: str = "") -> str:
    message: dict[str, object] = {"role": role, "parts": list(parts)}
    if finish_reason:
        message["finish_reason"] = finish_reason
    return json.dumps([message], ensure_ascii=False)


def _build_text_part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}
