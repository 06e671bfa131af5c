"""Asking a task's planner for the grants that a candidate lacks, as soon as the first verdict names them."""

from orchestrator.domain.event.work import GrantDecided
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import RuleId, Verdict, VerdictKind
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.ports.roles import GrantBrief, Roles

_ASKED_FOR = frozenset({RuleId.PROTECTED, RuleId.INLINE_TEST, RuleId.SUPPRESSION})
"""The rules whose findings a planner may excuse; on forgeries and secrets a person decides, who can grant them too."""
_MAX_WHY_CHARS = 2_000


async def request_needed_grants(
    context: RunContext, roles: Roles, task: TaskId, verdict: Verdict
) -> GrantDecided | None:
    """Ask the planner of a task for what its candidate lacks; return its decision, None if it was not asked."""
    state = context.state.tasks[task]
    if not _is_worth_asking(context, state, verdict):
        return None
    why = "\n".join(verdict.reasons)[:_MAX_WHY_CHARS]
    number = len(state.grant_decisions) + 1
    brief = GrantBrief(task=state.spec, number=number, wanted=verdict.needed_grants, why=why)
    return await roles.planner.decide_grant(brief)


def _is_worth_asking(context: RunContext, state: TaskState, verdict: Verdict) -> bool:
    if not verdict.needed_grants or verdict.kind not in {VerdictKind.REVISE, VerdictKind.RESTART}:
        return False
    for finding in verdict.findings:
        if finding.is_blocking and finding.rule not in _ASKED_FOR:
            return False
    asked = [decided.grants for decided in state.grant_decisions]
    is_new = verdict.needed_grants not in asked
    return is_new and len(asked) < context.config.plan.grant_requests
