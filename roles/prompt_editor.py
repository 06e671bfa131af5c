"""The judge as it mends prompts: it is shown what keeps going wrong under one, and answers with edits of its text."""

from dataclasses import dataclass, field
from functools import partial

from pydantic import Field

from orchestrator.agent.tools.base import Tool
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Message, Reply, Request
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import ROOT_TASK, SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.llm.budget import RunBudget, estimate_usage
from orchestrator.llm.errors import ContextOverflow, ModelError, RequestRefused
from orchestrator.llm.retry import RetryPolicy, complete_with_retries
from orchestrator.ports.model_client import ModelClient
from orchestrator.ports.prompt_edits import EditedPrompt, PromptEditBrief
from prompts import Prompt, PromptError, PromptSource, fence_text
from prompts.edits import PromptEdit, apply_prompt_edits
from roles import brief_text

_MAX_TURNS = 4


class EditAnswer(FrozenModel):
    """One edit."""

    old: str = Field(description="A piece of the prompt's text, copied exactly; it must stand there once.")
    new: str = Field(description="What is to stand there instead.")


class EditsAnswer(FrozenModel):
    """The whole answer."""

    reason: str = Field(description="Why the prompt leads to it, and why the edits mend that; or why none would.")
    edits: tuple[EditAnswer, ...] = Field((), description="The edits, in order; none if no words would help.")


def build_edited_prompt(prompt: Prompt, answer: EditsAnswer) -> Prompt | None:
    """Return the prompt with an answer's edits; None if there are none.

    Raises:
        PromptError: they do not fit.
    """
    if not answer.edits:
        return None
    edits = [PromptEdit(edit.old, edit.new) for edit in answer.edits]
    return apply_prompt_edits(prompt, edits)


async def _find_edit_problems(prompt: Prompt, answer: EditsAnswer) -> tuple[str, ...]:
    if not answer.reason.strip():
        return ("say in `reason` why the prompt leads to it",)
    try:
        build_edited_prompt(prompt, answer)
    except PromptError as error:
        return (str(error),)
    return ()


@dataclass
class ModelPromptEditor:
    """A `ports.PromptEditor` that asks the model configured under [roles.judge]."""

    client: ModelClient
    settings: ModelSettings
    policy: RetryPolicy
    budget: RunBudget
    prompts: PromptSource
    _own: RunState = field(default_factory=RunState)

    @property
    def spent(self) -> Usage:
        """The cost of its calls so far."""
        return self._own.spend.total

    async def estimate_cost(self, brief: PromptEditBrief) -> Usage:
        """Return what a proposal is expected to cost, by the size of its brief."""
        tool = _build_tool(brief)
        request = self._build_request(brief, tool, self._build_first_messages(brief), 0)
        return estimate_usage(request, await self.client.find_price(request.model), None)

    async def propose_edits(self, brief: PromptEditBrief) -> EditedPrompt:
        """Return a changed prompt, after a few turns in which edits that do not fit are sent back.

        Raises:
            LimitReached: the budget does not allow another call.
            ModelError: no model can be asked.
            ProviderDown: it did not answer within the policy's bounds.
        """
        tool = _build_tool(brief)
        messages = self._build_first_messages(brief)
        for turn in range(_MAX_TURNS):
            try:
                reply = await self._request_reply(self._build_request(brief, tool, messages, turn))
            except (ContextOverflow, RequestRefused) as error:
                return EditedPrompt(None, f"the judge's model gave no answer: {error}")
            answer, results = await _take_answer(tool, reply)
            if answer is not None:
                return EditedPrompt(build_edited_prompt(brief.prompt, answer), answer.reason)
            messages = (*messages, _repeat_reply(reply, self.settings.model), *results)
        return EditedPrompt(None, f"the judge's model gave no edits that fit the prompt in {_MAX_TURNS} turns")

    def _build_first_messages(self, brief: PromptEditBrief) -> tuple[Message, ...]:
        values = {
            "role": brief.role,
            "name": brief.prompt.name,
            "text": fence_text("prompt", brief.prompt.text),
            "causes": brief_text.format_bullets(brief.causes),
            "evidence": fence_text("evidence", brief_text.format_bullets(brief.evidence)),
        }
        system = self.prompts.load_prompt("retro").render_text()
        words = self.prompts.load_prompt("retro-brief").render_text(**values)
        return (Message(role="system", text=system), Message(role="user", text=words))

    def _build_request(
        self, brief: PromptEditBrief, tool: Tool[EditsAnswer], messages: tuple[Message, ...], turn: int
    ) -> Request:
        return Request(
            role="judge",
            task=ROOT_TASK,
            session=SessionId(f"retro:{brief.prompt.name}"),
            turn=turn,
            messages=messages,
            tools=(tool.spec,),
            **self.settings.build_request_fields(),
        )

    async def _request_reply(self, request: Request) -> Reply:
        await self.budget.reserve_call(self._own, request, await self.client.find_price(request.model))
        try:
            reply = await complete_with_retries(self.client, request, self.policy, _ignore_failure)
        finally:
            self.budget.settle_call()
        self._own.spend.total += reply.usage
        return reply


def _build_tool(brief: PromptEditBrief) -> Tool[EditsAnswer]:
    what = "Give your edits and end."
    return build_submit_tool("submit_edits", what, EditsAnswer, partial(_find_edit_problems, brief.prompt))


async def _take_answer(tool: Tool[EditsAnswer], reply: Reply) -> tuple[EditsAnswer | None, tuple[Message, ...]]:
    """Return the answer that a reply gives, or what is said to a reply without one that fits."""
    if not reply.tool_calls:
        return None, (Message(role="user", text="End with `submit_edits`: nobody reads what you say outside of it."),)
    results = []
    for call in reply.tool_calls:
        text = f"there is no tool {call.name!r}: use {tool.name}"
        if call.name == tool.name:
            result = await tool(call.arguments)
            if isinstance(result.final, EditsAnswer):
                return result.final, ()
            text = result.text
        results.append(Message(role="tool", call_id=call.id, text=text))
    return None, tuple(results)


def _repeat_reply(reply: Reply, model: str) -> Message:
    """Return a reply as the conversation goes on with it; one that says nothing needs some words."""
    text = reply.text
    if not text.strip() and not reply.tool_calls:
        text = "(nothing)"
    return Message(role="assistant", text=text, tool_calls=reply.tool_calls, reasoning=reply.reasoning, model=model)


async def _ignore_failure(_error: ModelError, _try_no: int, _retry_in_s: float | None) -> None:
    """Ignore a failed try: the last one is reported, as the error that ends them."""
