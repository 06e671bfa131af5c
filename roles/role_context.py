"""The common part of the three roles: how they hold a conversation, and how lists stand in a prompt."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from orchestrator.agent.loop import run_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec
from orchestrator.config.model import Config
from orchestrator.domain.judging.forge_check import ForgeCheck, format_check_lines
from orchestrator.domain.run.contract import Contract
from orchestrator.domain.run.handoff import Handoff
from orchestrator.domain.run.task import Task
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.roles import CheckSummary, SessionFailure, TaskReport
from orchestrator.ports.tier_grants import DEFAULT_TIER_GRANTS, TierGrants
from prompts import SHIPPED_PROMPTS, PromptSource, fence_text

V = TypeVar("V")


@dataclass(frozen=True)
class RoleContext:
    """The context of a role beside its brief."""

    config: Config
    ledger: Ledger
    asker: ModelCaller
    hooks: Hooks = NO_HOOKS
    prompts: PromptSource = SHIPPED_PROMPTS
    tier_grants: TierGrants = DEFAULT_TIER_GRANTS

    async def hold_session(self, spec: SessionSpec, *kinds: type[V]) -> V | SessionFailure:
        """Hold a conversation that ends with a value of one of `kinds`, or with how it ended without one."""
        result = await run_session(spec, self.asker, self.ledger, self.hooks)
        if isinstance(result, SessionFailure):
            return result
        for kind in kinds:
            if isinstance(result, kind):
                return result
        raise TypeError(f"session {spec.id} gave a {type(result).__name__}: one of its final tools makes no {kinds}")


def format_bullets(items: Iterable[str], empty: str = "- (nothing)") -> str:
    """Return a Markdown list, or `empty`."""
    return "\n".join(f"- {item}" for item in items) or empty


def format_contract(contract: Contract, met: Collection[str] = ()) -> str:
    """Return the criteria with their ids and commands, and which of them were `met` before anything changed."""
    return format_bullets(
        f"{criterion.id}: {criterion.text}"
        + (f" (checked by `{criterion.command}`)" if criterion.command else "")
        + (" (met already, and to stay so)" if criterion.id in met else "")
        for criterion in contract.criteria
    )


def format_check_summaries(checks: Iterable[CheckSummary]) -> str:
    """Return receipts in words."""
    return format_bullets(
        (f"{check.check}: {check.result} (receipt {check.receipt})" for check in checks), "- (no check ran)"
    )


def format_forge_checks(checks: Iterable[ForgeCheck]) -> str:
    """Return what the forge's checks say, as data: what they print can come from the very code that they test."""
    lines = format_check_lines(tuple(checks))
    if lines:
        return f"The forge's checks on the pull request\n{fence_text('forge', format_bullets(lines))}"
    return ""


def format_slice(task: Task) -> str:
    """Return all that a planner wrote of the slice that it gave to a sub-planner; for the root it is the goal alone."""
    parts = [
        task.outcome,
        *_section("It is finished when", task.acceptance),
        *_section("Paths it is expected to change", task.paths),
        *_section("To be left alone", task.non_goals),
        *_section("Yours alone to decide", task.decisions),
    ]
    return "\n".join(parts)


def format_planner_report(report: TaskReport) -> str:
    """Return what became of a task, for its planner; reasons and the words of its worker are fenced as data."""
    lines = _heading(report)
    if report.kept:
        lines.append(f"its work is kept as {report.kept}, for people: no task can see it")
    if report.reason:
        lines.append(fence_text("reason", report.reason))
    if report.handoff:
        lines.append(fence_text("report", format_handoff(report.handoff)))
    return "\n".join(lines)


def format_judge_report(report: TaskReport) -> str:
    """Return what became of a task, for a judge: what was asked for, and what its worker says only as claims."""
    lines = [*_heading(report), report.task.outcome, *_section("accepted when", report.task.acceptance)]
    if report.reason:
        lines.append(fence_text("reason", report.reason))
    if report.handoff:
        lines.append(fence_text("claims", format_handoff(report.handoff)))
    if report.verdicts:
        lines.append(fence_text("verdicts", "\n".join(report.verdicts)))
    return "\n".join(lines)


def _heading(report: TaskReport) -> list[str]:
    changed, more = report.paths[:20], len(report.paths) - 20
    files = f"{', '.join(changed)}{f' and {more} more' if more > 0 else ''}"
    if report.cause:
        cause = f" ({report.cause})"
    else:
        cause = ""
    return [
        f"{report.task.id} ({report.task.title}): {report.status}{cause}",
        *([fence_text("changed", files)] if changed else []),
    ]


def format_handoff(handoff: Handoff) -> str:
    """Return a handoff as text."""
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
    if lines:
        return (f"{name}:", *lines)
    return ()
