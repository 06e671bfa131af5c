"""What a retrospective asks a model for: a change of a prompt that keeps leading to work that is sent back."""

from dataclasses import dataclass
from typing import Protocol

from orchestrator.domain.budget.usage import Usage
from prompts import Prompt


@dataclass(frozen=True)
class PromptEditBrief:
    """The prompt of `role`, `causes` in words with their counts, and `evidence`: excerpts of journals, as data."""

    role: str
    prompt: Prompt
    causes: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class EditedPrompt:
    """The answer: the changed prompt, or None where no words would help or no usable answer came; `reason` says why."""

    prompt: Prompt | None
    reason: str


class PromptEditor(Protocol):
    """Somebody who proposes changes of prompts."""

    @property
    def spent(self) -> Usage:
        """The cost of its calls so far."""

    async def estimate_cost(self, brief: PromptEditBrief) -> Usage:
        """Return what a proposal is expected to cost."""

    async def propose_edits(self, brief: PromptEditBrief) -> EditedPrompt:
        """Return a changed prompt.

        Raises:
            LimitReached: the budget does not allow another call.
        """
