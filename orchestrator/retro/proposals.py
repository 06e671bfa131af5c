"""Proposals of a retrospective: a changed prompt with its findings, and what became of it when it was tried."""

import difflib
from dataclasses import dataclass
from typing import Literal

from orchestrator.retro.findings import PromptFinding
from orchestrator.retro.trial import TriedDecision
from prompts import Prompt

ProposalState = Literal["confirmed", "refused", "untried", "none"]
"""`confirmed`: what went wrong comes out better, and nothing else worse. `refused`: it does not. `untried`: nothing in
the journals can show it. `none`: no usable change was proposed.
"""


@dataclass(frozen=True)
class PromptProposal:
    """A proposal for one prompt. `changed` is None if there is none, and then `reason` says why.

    `reason` is the proposer's own otherwise; `verdict` says why the trial ended as it did.
    """

    findings: tuple[PromptFinding, ...]
    prompt: Prompt | None
    changed: Prompt | None
    reason: str
    state: ProposalState = "none"
    verdict: str = ""
    tried: tuple[TriedDecision, ...] = ()

    @property
    def name(self) -> str:
        """The name of the prompt."""
        return self.findings[0].use.name

    @property
    def diff(self) -> str:
        """The unified diff of the prompt's file; empty without a change."""
        if self.prompt is None or self.changed is None:
            return ""
        old, new = self.prompt.source.splitlines(), self.changed.source.splitlines()
        lines = difflib.unified_diff(old, new, f"a/{self.name}.md", f"b/{self.name}.md", lineterm="")
        return "".join(f"{line}\n" for line in lines)
