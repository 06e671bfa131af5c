"""Tries of one conversation: when one ends without a result, the next begins with a fresh context.

Each try is a session of its own with an id of its own. A run that is resumed therefore goes through the earlier ones
again without asking anybody.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.agent.brief_room import find_brief_room
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.config.roles import ModelSettings
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.run.task import Exit
from orchestrator.llm.model_limits import find_context_tokens
from orchestrator.ports.ledger import record_notice_once
from orchestrator.ports.roles import SessionFailure
from prompts import Prompt, fence_text
from roles.role_context import RoleContext

V = TypeVar("V")

_DETAIL_CHARS = 500
_ADVICE: Mapping[Exit, str] = {
    Exit.STUCK: "Use a tool in every reply, and do not repeat a call that has told you what it can.",
    Exit.MALFORMED: "Write the arguments of each call as its tool asks for them, and nothing around them.",
    Exit.REFUSED: "Keep to what is asked, and quote as little as you can of what you read.",
    Exit.OUT_OF_CONTEXT: "Read less: what you are shown here is shorter, and all that you read fills your context.",
    Exit.OUT_OF_TURNS: "Read less, and end as soon as you know enough.",
}


@dataclass(frozen=True)
class SessionTry:
    """One try of a conversation.

    `number` counts from 1, `settings` are those of the model that is asked, `failure` is the end of the try before.
    `overflow_count` tells how many earlier tries filled their context.
    """

    number: int
    settings: ModelSettings
    failure: SessionFailure | None = None
    overflow_count: int = 0

    @property
    def brief_chars(self) -> int:
        """Characters that a brief may have: a third of the context."""
        return find_brief_room(find_context_tokens(self.settings)).brief

    def render_brief(self, render: Callable[[int], str], fixed_chars: int = 0) -> str:
        """Return what `render` makes of so many characters; half as long for each try that filled its context.

        `fixed_chars` is the size of instructions and tools, beside which the brief has to fit.
        """
        text = render(find_brief_room(find_context_tokens(self.settings), fixed_chars).brief)
        if self.overflow_count:
            return render(len(text) >> self.overflow_count)
        return text

    def add_explanation(self, brief: str, prompt: Prompt) -> str:
        """Return the brief of this try; if there was one before, `prompt` says how that ended and what to change."""
        if self.failure is None:
            return brief
        ended = f"{self.failure.exit} {self.failure.detail[:_DETAIL_CHARS]}".strip()
        explanation = prompt.render_text(
            number=str(self.number), ended=fence_text("ended", ended), advice=_ADVICE[self.failure.exit]
        )
        return f"{brief.rstrip()}\n\n{explanation}"


async def hold_with_fresh_tries(
    around: RoleContext,
    settings: ModelSettings,
    build_spec: Callable[[SessionTry], SessionSpec],
    *kinds: type[V],
) -> V | SessionFailure:
    """Hold a conversation, again with a fresh context while it fails in a way that says nothing about the run.

    There are as many tries as `[run] session_tries` says with the role's own model, then one with each fallback.

    Raises:
        LimitReached, ProviderDown, ModelError: no model can be asked now; the try can go on later.
    """
    models = _list_try_settings(settings, around.config.run.session_tries)
    current = SessionTry(1, models[0])
    while True:
        spec = build_spec(current)
        result = await around.hold_session(spec, *kinds)
        if not isinstance(result, SessionFailure) or not result.exit.allows_fresh_try:
            return result
        if current.number == len(models):
            return _name_last_try(result, current.number)
        await _tell_of_fresh_try(around, spec, result)
        overflow_count = current.overflow_count + (result.exit == Exit.OUT_OF_CONTEXT)
        current = SessionTry(current.number + 1, models[current.number], result, overflow_count)


async def _tell_of_fresh_try(around: RoleContext, spec: SessionSpec, failure: SessionFailure) -> None:
    detail = failure.detail[:_DETAIL_CHARS]
    text = f"conversation {spec.id} gave no result and begins afresh: it ended {failure.exit} {detail}".rstrip()
    await record_notice_once(around.ledger, Noticed(level="info", text=text, task=spec.task))


def _list_try_settings(settings: ModelSettings, tries: int) -> tuple[ModelSettings, ...]:
    """Return the settings of each try: the role's own, then each fallback in place of the model."""
    if tries == 1:
        return (settings,)
    return (settings,) * tries + settings.list_fallback_chain()[1:]


def _name_last_try(failure: SessionFailure, number: int) -> SessionFailure:
    if number == 1:
        return failure
    return failure.model_copy(update={"detail": f"{failure.detail} (the last of {number} conversations)"})
