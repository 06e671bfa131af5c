"""The table of a retrospective: how decisions came out, by prompt, model and variant."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.budget.usage import Usage
from orchestrator.retro.decisions import DecisionCause, JudgedDecision, PromptUse


@dataclass
class DecisionRow:
    """All decisions under one prompt, by one model and variant. `lost` is what went into what did not land.

    `causes` counts decisions by cause, `examples` are `RUN event SEQ` of some of them.
    """

    use: PromptUse
    model: str
    variant: str | None
    decisions: int = 0
    landed: int = 0
    sent_back: int = 0
    causes: Counter[DecisionCause] = field(default_factory=Counter)
    examples: dict[DecisionCause, list[str]] = field(default_factory=dict)
    spent: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)

    def add_decision(self, decision: JudgedDecision) -> None:
        """Count a decision."""
        self.decisions += 1
        self.landed += decision.outcome == "landed"
        self.sent_back += decision.outcome == "sent-back"
        self.spent += decision.spent
        if decision.outcome != "landed":
            self.lost += decision.spent
        self.causes.update(decision.causes)
        for fault in decision.faults:
            shown = self.examples.setdefault(fault.cause, [])
            if len(shown) < MAX_EXAMPLES:
                shown.append(f"{decision.run} event {fault.seq}")


MAX_EXAMPLES = 3


def build_rows(decisions: Iterable[JudgedDecision]) -> Sequence[DecisionRow]:
    """Return the table, in the order of roles, prompts, models and variants."""
    rows: dict[tuple[str, str, str, str, str], DecisionRow] = {}
    for decision in decisions:
        use = decision.use
        key = (use.role, use.name, use.sha, decision.model, decision.variant or "")
        row = rows.setdefault(key, DecisionRow(use, decision.model, decision.variant))
        row.add_decision(decision)
    return [rows[key] for key in sorted(rows)]
