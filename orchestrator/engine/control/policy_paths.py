"""The policy on the paths of a change: what it denies, and what a person is to look at before it lands."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from orchestrator.domain.chat import Role
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.hooks import HookScope
from orchestrator.domain.ids import TaskId, build_approval_item, build_policy_subject
from orchestrator.domain.policy.decision import PolicyDecision, may_refuse
from orchestrator.domain.policy.questions import digest_question
from orchestrator.domain.policy.rules import PolicyActor, PolicyEffect, PolicySubject, SubjectKind
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt
from orchestrator.ports.hooks import HookOccurrence, Hooks
from orchestrator.ports.policy import PolicyGuard

_KINDS: tuple[SubjectKind, ...] = ("write", "merge")
_MAX_REASONS = 10
_WORDS: Mapping[PolicyEffect, str] = {"ask": "asks about", "deny": "denies"}
FILE_ACTOR = PolicyActor(role="worker")
"""Who is taken to have made the files that a migration lands."""


def build_attempt_actor(attempt: Attempt) -> PolicyActor:
    """Return who made an attempt."""
    role: Role = "arbiter" if attempt.mode == "arbitrate" else "worker"
    return PolicyActor(role=role, variant=attempt.variant or "")


def list_actor_paths(attempt: Attempt, candidate: CandidateTaken) -> tuple[tuple[PolicyActor, Sequence[str]], ...]:
    """Return who made which paths of a candidate: tests of a verifier are among them, which its worker never saw."""
    added = frozenset(candidate.verifier_tests)
    own = [path for path in candidate.paths if path not in added]
    return (build_attempt_actor(attempt), own), (PolicyActor(role="verifier"), candidate.verifier_tests)


def find_denied_paths(guard: PolicyGuard, actor: PolicyActor, paths: Iterable[str]) -> Mapping[str, str]:
    """Return the paths that the policy does not let an actor write or land, each with the rule that denies it."""
    denied = {}
    for path, _, decision in _iterate_strict(guard, actor, paths):
        if decision.effect == "deny":
            denied[path] = decision.rule_text
    return denied


def list_merge_questions(
    guard: PolicyGuard, state: RunState, task: TaskId, actor: PolicyActor, paths: Sequence[str]
) -> list[str]:
    """Return why a person has to look at a change before it lands, in words; empty where nobody has to.

    A path that may be written only after a question counts, unless that was answered with a yes.
    """
    reasons: list[str] = []
    if not guard.asks_before_landing:
        return reasons
    for path, kind, decision in _iterate_strict(guard, actor, paths):
        if kind == "merge" or not _is_approved(state, task, actor, PolicySubject(kind=kind, name=path)):
            reasons.append(f"the policy {_WORDS[decision.effect]} {path} ({decision.rule_text})")
    if len(reasons) > _MAX_REASONS:
        return [*reasons[:_MAX_REASONS], f"and about {len(reasons) - _MAX_REASONS} more"]
    return reasons


def _iterate_strict(
    guard: PolicyGuard, actor: PolicyActor, paths: Iterable[str]
) -> Iterator[tuple[str, SubjectKind, PolicyDecision]]:
    kinds = [kind for kind in _KINDS if may_refuse(guard.rule_sets, kind)]
    if not kinds:
        return
    for path in paths:
        for kind in kinds:
            decision = guard.decide_subject(actor, PolicySubject(kind=kind, name=path))
            if not decision.is_allowed:
                yield path, kind, decision


def _is_approved(state: RunState, task: TaskId, actor: PolicyActor, subject: PolicySubject) -> bool:
    item = build_approval_item("policy", build_policy_subject(task, digest_question(actor, subject)))
    answer = state.approvals.get(item)
    return answer is not None and answer.decision == "approve"


class PolicyHooks:
    """A `ports.Hooks` that asks the policy before anything lands, and then those that are configured.

    A candidate that was let pass is looked at once more here: the policy may have become stricter since.
    """

    def __init__(self, hooks: Hooks, guard: PolicyGuard, state: RunState) -> None:
        self._hooks = hooks
        self._guard = guard
        self._state = state

    def has_hooks_for(self, scope: HookScope) -> bool:
        """Return True if a configured hook is to be asked or told of such moments."""
        return self._hooks.has_hooks_for(scope)

    async def find_veto(self, moment: HookOccurrence) -> str | None:
        """Return the policy's objection to a landing, or a hook's to anything."""
        if moment.scope == "landing":
            await self._guard.take_changes()
            for rule in self._list_denials(moment):
                return f"the policy denies it ({rule})"
        return await self._hooks.find_veto(moment)

    async def notify_after(self, moment: HookOccurrence) -> None:
        """Tell the configured hooks."""
        await self._hooks.notify_after(moment)

    def _list_denials(self, moment: HookOccurrence) -> list[str]:
        """Return the rules that deny what is about to land: the candidates of tasks, or the files of a migration."""
        denials: list[str] = []
        for name in moment.tasks:
            task = self._state.tasks[name]
            if task.attempt is None or task.candidate is None:
                continue
            for actor, paths in list_actor_paths(task.attempt, task.candidate):
                denials += find_denied_paths(self._guard, actor, paths).values()
        if not moment.tasks:
            files = moment.facts.get("landing", {}).get("units", ())
            denials += find_denied_paths(self._guard, FILE_ACTOR, files).values()
        return denials
