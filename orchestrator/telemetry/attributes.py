"""The attributes of spans: those of the semantic conventions for generative AI, and our own below `orchestrate.`."""

import json

from orchestrator.domain.event.work import ModelCalled, ModelReplied, SessionStarted, ToolCalled, ToolReturned
from orchestrator.domain.identity import AgentIdentity, hide_model_path
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
}
"""By the name before the slash in a model's, the provider's by the conventions; all others have the same."""
_UNNAMED_PROVIDER = "litellm"
_TOOL_CHARS = 100


def find_provider_name(model: str) -> str:
    """Return the provider of a model by the conventions: `anthropic` for `anthropic/claude-sonnet-4-5`."""
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
        "orchestrate.agent.engine": identity.engine,
        "orchestrate.policy.hash": identity.policy,
    }
    return {name: value for name, value in named.items() if value}


def build_model_attributes(model: str) -> dict[str, AttributeValue]:
    """Return which model is asked, and of which provider."""
    return {"gen_ai.provider.name": find_provider_name(model), "gen_ai.request.model": hide_model_path(model)}


def build_session_attributes(event: SessionStarted, *, has_content: bool) -> dict[str, AttributeValue]:
    """Return the attributes of a conversation; its first words only where content may be sent."""
    attributes = build_model_attributes(event.model)
    attributes["gen_ai.operation.name"] = "invoke_agent"
    attributes["gen_ai.agent.name"] = event.role
    attributes["gen_ai.conversation.id"] = event.session
    if has_content:
        attributes["gen_ai.system_instructions"] = json.dumps([_build_text_part(event.system.head)])
        attributes["gen_ai.input.messages"] = _format_message("user", event.brief.head)
    return attributes


def build_call_attributes(event: ModelCalled) -> dict[str, AttributeValue]:
    """Return the attributes of a model call that begins."""
    attributes = build_model_attributes(event.model)
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
        attributes["gen_ai.output.messages"] = _format_message("assistant", event.text.head, event.finish_reason)
    return attributes


def build_tool_attributes(event: ToolCalled, *, has_content: bool) -> dict[str, AttributeValue]:
    """Return the attributes of a tool's use; its arguments only where content may be sent."""
    attributes: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.name[:_TOOL_CHARS],
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


def _format_message(role: str, text: str, finish_reason: str = "") -> str:
    message: dict[str, object] = {"role": role, "parts": [_build_text_part(text)]}
    if finish_reason:
        message["finish_reason"] = finish_reason
    return json.dumps([message], ensure_ascii=False)


def _build_text_part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}
