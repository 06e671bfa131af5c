"""Asking people: what needs an answer before it may happen, by how much of the repository it touches.

Tiers are granted by the user's configuration, and by answers in the inbox.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from math import ceil

from orchestrator.config.model import ApprovalSettings, Config
from orchestrator.domain.budget.limits import Limit
from orchestrator.domain.chat import Role
from orchestrator.domain.commands.answers import format_question_name, suggest_answers
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import TaskId, UnitId, build_approval_item, build_tier_subject, parse_unit_task
from orchestrator.domain.policy.decision import build_tier_question, find_highest_tier
from orchestrator.domain.policy.rules import PolicyActor
from orchestrator.domain.run.approval import Approval, ApprovalMatter, ApprovalState
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.policy_paths import list_actor_paths, list_merge_questions
from orchestrator.errors import LimitReached, PersonNeeded
from orchestrator.journal.journal import Journal
from orchestrator.ports.policy import NO_POLICY, PolicyGuard

_SHOWN = 20


async def ask_person(context: RunContext, approval: Approval) -> ApprovalState:
    """Return the answer to a question, which is put when nobody has put it yet.

    Raises:
        PersonNeeded: there is no answer yet.
    """
    if approval.item not in context.state.approvals:
        await context.journal.append(ApprovalRequested(approval=approval))
    answer = context.state.approvals[approval.item]
    if answer.is_open:
        raise build_waiting_error(context)
    return answer


def build_waiting_error(context: RunContext) -> PersonNeeded:
    """Return the error that ends an engine which has nothing to do but to wait for a person."""
    run, waiting = context.state.run.run, context.state.pending_approvals
    names = ", ".join(map(format_question_name, waiting))
    return PersonNeeded(f"waits for an answer to {names}: orchestrate watch {run}, or {suggest_answers(run, waiting)}")


def build_run_approval(
    context: RunContext, matter: ApprovalMatter, subject: str, title: str, detail: Sequence[str], **more: object
) -> Approval:
    """Return an approval of the run that expires as configured."""
    item = build_approval_item(matter, subject)
    approval = Approval(item=item, matter=matter, subject=subject, title=title, detail=tuple(detail), **more)
    return set_expiry(approval, context.config.approval, context.journal.read_clock())


def set_expiry(approval: Approval, rules: ApprovalSettings, now: datetime) -> Approval:
    """Return the approval with the expiry and the default that are configured, counted from `now`."""
    expires_at = now + timedelta(seconds=rules.expires_s) if rules.expires_s else None
    return approval.model_copy(update={"default": rules.default, "expires_at": expires_at})


def format_answer(answer: ApprovalState) -> str:
    """Return who answered, with the reason where one was given."""
    return f"{answer.by} ({answer.reason})" if answer.reason else answer.by


def build_landing_approval(context: RunContext, candidate: CandidateTaken, unit: str) -> Approval | None:
    """Return what is to be asked before a candidate lands; None when it may land by itself.

    The policy's questions are put in every mode of `[approval]`.
    """
    reasons, task = [], context.state.tasks[parse_unit_task(UnitId(unit))]
    if context.config.approval.mode == "review":
        changed = candidate.added + candidate.removed
        reasons = list_blast_radius_reasons(context.config.approval, candidate.paths, changed)
    for actor, paths in list_actor_paths(task.attempts[-1], candidate):
        reasons += list_merge_questions(context.policy, context.state, task.spec.id, actor, paths)
    if not reasons:
        return None
    title = f"land {unit}: {len(candidate.paths)} files, +{candidate.added} −{candidate.removed} lines"
    return build_run_approval(context, "landing", unit, title, [*reasons, *candidate.paths[:_SHOWN]])


def list_blast_radius_reasons(settings: ApprovalSettings, paths: Sequence[str], lines: int) -> list[str]:
    """Return why a change is too large or too delicate to land unseen, in words; empty when it is not."""
    from pathspec import GitIgnoreSpec

    reasons = []
    if len(paths) > settings.max_files:
        reasons.append(f"it changes {len(paths)} files, more than {settings.max_files}")
    if lines > settings.max_lines:
        reasons.append(f"it changes {lines} lines, more than {settings.max_lines}")
    for name, globs in (("a path to be looked at", settings.paths), ("tests", settings.tests)):
        touched = list(GitIgnoreSpec.from_lines(globs).match_files(paths))
        if touched:
            reasons.append(f"it changes {name}: {', '.join(touched[:3])}")
    return reasons


def build_budget_approval(context: RunContext, limit: LimitReached) -> Approval | None:
    """Return the question whether a spent budget may be raised; None where nobody is asked that."""
    settings = context.config.approval
    if settings.mode != "review" or settings.budget_factor <= 1 or limit.config_path is None:
        return None
    table = context.config.budget.model_dump()
    for key in limit.config_path:
        table = table[key]
    raised = {name: _times(table[name], settings.budget_factor) for name in Limit.model_fields if table[name]}
    changed: dict[str, object] = dict(raised)
    for key in reversed(limit.config_path):
        changed = {key: changed}
    whose = "".join(f" of {key}" for key in limit.config_path[1:])
    subject = "/".join((*limit.config_path, "+".join(f"{name}={value:.15g}" for name, value in raised.items())))
    title = f"raise the budget{whose} to " + ", ".join(f"{value:,.15g} {name}" for name, value in raised.items())
    return build_run_approval(context, "budget", subject, title, [str(limit)], settings={"budget": changed})


async def ask_to_raise_limit(context: RunContext, limit: LimitReached) -> None:
    """Ask a person whether a spent budget may be larger, where that is configured, and go on if it may.

    Raises:
        LimitReached: it may not.
        PersonNeeded: there is no answer yet.
    """
    asked = build_budget_approval(context, limit)
    if asked is None or (await ask_person(context, asked)).decision != "approve":
        raise limit


def _times(value: float, factor: float) -> float:
    """Return a count stays one, and grows."""
    if isinstance(value, int):
        return ceil(value * factor)
    return value * factor


_ASKED = (
    "Asked as {item}. It is not granted yet, and may never be. Go on with what you can do without it; if nothing is "
    "left to do, use `finish` and say what remains: the task is taken up again when there is an answer."
)
_MOST_TEXT = 500


class RunTierGrants:
    """A `ports.TierGrants` that asks in the run's inbox; `config` gives the settings as they stand.

    A task's own grant counts before its role's; the policy can only lower what they give.
    """

    def __init__(self, config: Callable[[], Config], journal: Journal, policy: PolicyGuard = NO_POLICY) -> None:
        self._config = config
        self._journal = journal
        self._policy = policy

    def get_tier(self, role: Role, task: TaskId) -> Tier:
        """Return the tier of a role's commands in a task."""
        config = self._config()
        granted, usual = Tier.FILES, Tier.FILES
        match role:
            case "worker" | "arbiter":
                granted = config.hands.tiers.get(task, Tier.FILES)
                usual = config.hands.tiers.get(task, config.roles.worker.tier)
            case "planner":
                usual = config.roles.planner.tier
        return find_highest_tier(self._policy.rule_sets, self._find_actor(role, task), usual, granted)

    def get_ceiling(self) -> Tier:
        """Return the highest tier that a worker may ask for."""
        config = self._config()
        return max(config.hands.ask_tier, config.roles.worker.tier)

    def _find_actor(self, role: Role, task: TaskId) -> PolicyActor:
        """Return who works at a task in a role, with the variant of its latest attempt."""
        state = self._journal.state.tasks.get(task)
        if role != "worker" or state is None or state.attempt is None:
            return PolicyActor(role=role)
        return PolicyActor(role=role, variant=state.attempt.variant or "")

    async def request_tier(self, task: TaskId, tier: Tier, reason: str) -> str:
        """Put a wish for a higher tier into the user's inbox, once for each tier of a task."""
        has, asked = self.get_tier("worker", task), self._journal.state.approvals.get(_build_item(task, tier))
        if tier <= has:
            return f"Your commands run at tier {int(has)} already: {has.description}."
        if tier > self.get_ceiling():
            return f"Refused: tier {int(tier)} ({tier.description}) is not to be had in this run. Do without it."
        decision = self._policy.decide_subject(self._find_actor("worker", task), build_tier_question(tier))
        if decision.effect == "deny":
            return f"Refused: the policy denies tier {int(tier)} ({decision.rule_text}). Do without it."
        if asked is not None and asked.decision == "reject":
            return f"Refused by the user before: {asked.reason or 'no reason given'}. Do without it."
        if asked is None:
            title = f"let the commands of {task} run at tier {int(tier)}: {tier.description}"
            detail, settings = (f"its worker says: {reason[:_MOST_TEXT]}",), {"hands": {"tiers": {task: int(tier)}}}
            item, subject = _build_item(task, tier), build_tier_subject(task, int(tier))
            approval = Approval(
                item=item, matter="tier", subject=subject, title=title, detail=detail, settings=settings
            )
            approval = set_expiry(approval, self._config().approval, self._journal.read_clock())
            await self._journal.append(ApprovalRequested(approval=approval))
        return _ASKED.format(item=_build_item(task, tier))


def _build_item(task: TaskId, tier: Tier) -> str:
    return build_approval_item("tier", build_tier_subject(task, int(tier)))
