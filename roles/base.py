"""What the three roles share: how they reach models and the journal, and how lists stand in a prompt."""

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.agent.ask import Asker
from orchestrator.config.model import Config
from orchestrator.domain.contract import Contract
from orchestrator.domain.handoff import Handoff
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.roles import CheckSummary, TaskReport
from prompts import fence


@dataclass(frozen=True)
class Surroundings:
    """What a role needs beside its brief."""

    config: Config
    ledger: Ledger
    asker: Asker


def bullets(items: Iterable[str], empty: str = "- (nothing)") -> str:
    """A Markdown list, or `empty`."""
    return "\n".join(f"- {item}" for item in items) or empty


def contract_lines(contract: Contract) -> str:
    """The criteria with their ids and commands."""
    return bullets(
        f"{criterion.id}: {criterion.text}" + (f" (checked by `{criterion.command}`)" if criterion.command else "")
        for criterion in contract.criteria
    )


def check_lines(checks: Iterable[CheckSummary]) -> str:
    """Receipts in words."""
    return bullets((f"{check.check}: {check.result} (receipt {check.receipt})" for check in checks), "- (no check ran)")


def report_text(report: TaskReport) -> str:
    """What became of a task; the words of its worker are fenced as data."""
    lines = [f"{report.task.id} ({report.task.title}): {report.status}{f' – {report.reason}' if report.reason else ''}"]
    if report.paths:
        lines.append(f"changed: {', '.join(report.paths[:20])}")
    if report.handoff:
        lines.append(fence("report", handoff_text(report.handoff)))
    return "\n".join(lines)


def handoff_text(handoff: Handoff) -> str:
    """A handoff as text."""
    parts = [
        handoff.summary,
        *_section("done", handoff.done),
        *_section("remaining", handoff.remaining),
        *_section("verified", (f"{v.claim} (`{v.command}`)" for v in handoff.verified)),
        *_section("believed", handoff.believed),
        *_section("deviations", handoff.deviations),
        *_section("concerns", handoff.concerns),
    ]
    return "\n".join(parts)


def _section(name: str, items: Iterable[str]) -> tuple[str, ...]:
    lines = [f"- {item}" for item in items]
    return (f"{name}:", *lines) if lines else ()
