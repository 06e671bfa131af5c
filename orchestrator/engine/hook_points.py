"""The points of a run at which hooks are asked and told, as far as the engine itself comes by them."""

from orchestrator.domain.agent_lookup import build_attempt_identity
from orchestrator.domain.event.work import AttemptStarted
from orchestrator.domain.hooks import RUN_END_OCCURRENCE, HookScope
from orchestrator.domain.identity import AgentIdentity
from orchestrator.domain.ids import TaskId, build_unit_id
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Attempt, EndCause
from orchestrator.engine.context import RunContext
from orchestrator.errors import PersonNeeded
from orchestrator.ports.hooks import HookOccurrence


async def require_run_allowed(context: RunContext) -> None:
    """Ask whether this process may work on the run.

    Raises:
        PersonNeeded: a hook vetoes it.
    """
    epoch = context.state.epoch
    veto = await context.hooks.find_veto(HookOccurrence("run", f"epoch-{epoch}", {"epoch": epoch}))
    if veto is not None:
        raise PersonNeeded(f"the run may not go on: {veto}; resume it when that is settled")


async def notify_run_ended(context: RunContext) -> None:
    """Tell how the run ended, once, whichever process comes to it."""
    ended = context.state.ended
    if ended is None:
        return
    pr = context.state.pr
    opened = pr.model_dump(mode="json", include={"forge", "ref", "url"}) if pr else None
    facts = ended.model_dump(mode="json", include={"outcome", "reason", "exit"}) | {"pr": opened}
    await context.hooks.notify_after(HookOccurrence("run", RUN_END_OCCURRENCE, facts))


async def find_attempt_veto(context: RunContext, state: TaskState, beginning: AttemptStarted) -> str | None:
    """Return why an attempt may not begin, which its event would record."""
    attempt = beginning.attempt
    identity = build_attempt_identity(context.state, attempt, beginning.engine, beginning.policy)
    return await context.hooks.find_veto(_build_occurrence("attempt", state, attempt, identity))


async def notify_attempt_ended(context: RunContext, task: TaskId) -> None:
    """Tell how the latest attempt ended."""
    state = context.state.tasks[task]
    end = state.ends[-1]
    handoff = end.handoff.model_dump(mode="json") if end.handoff else None
    more_facts = {"exit": end.exit, "detail": end.detail, "handoff": handoff}
    await context.hooks.notify_after(
        _build_occurrence("attempt", state, state.attempts[-1], state.identities[-1], **more_facts)
    )


async def apply_verdict_veto(context: RunContext, task: TaskId, verdict: Verdict) -> Verdict:
    """Return the verdict if it may stand: a vetoed merge becomes a rejection, other verdicts cannot be vetoed."""
    veto = await context.hooks.find_veto(_build_verdict_occurrence(context.state.tasks[task], verdict))
    if veto is None or verdict.kind != VerdictKind.MERGE:
        return verdict
    refused = {"kind": VerdictKind.REJECT, "cause": EndCause.REFUSED_BY_HOOK}
    return verdict.model_copy(update={**refused, "reasons": (f"refused by a hook: {veto}",)})


async def notify_verdict_given(context: RunContext, task: TaskId) -> None:
    """Tell the verdict on the latest attempt."""
    state = context.state.tasks[task]
    await context.hooks.notify_after(_build_verdict_occurrence(state, state.verdicts[-1].verdict))


def _build_verdict_occurrence(state: TaskState, verdict: Verdict) -> HookOccurrence:
    more_facts = verdict.model_dump(mode="json", include={"kind", "cause", "reasons", "receipts"})
    return _build_occurrence("verdict", state, state.attempts[-1], state.identities[-1], verdict=more_facts)


def _build_occurrence(
    scope: HookScope, state: TaskState, attempt: Attempt, identity: AgentIdentity, **more_facts: object
) -> HookOccurrence:
    """Return the occurrence of an attempt: what it starts from while it has no candidate, then what it made."""
    spec = state.spec
    candidate = next((taken for taken in state.candidates if taken.number == attempt.number), None)
    commit = candidate.commit if candidate else None
    about = attempt.model_dump(mode="json", include={"number", "mode", "model", "base"}) | {"candidate": commit}
    facts = {"task": spec.model_dump(mode="json"), "attempt": about, **more_facts}
    span, view = (attempt.base, commit) if commit else None, commit or attempt.start or attempt.base
    name = build_unit_id(spec.id, attempt.number)
    return HookOccurrence(scope, name, facts, (spec.id,), span=span, view=view, identity=identity)
