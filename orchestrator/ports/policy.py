"""The policy as the rest of the house sees it: what is allowed, asked about or denied, as the files stand now."""

from collections.abc import Sequence
from typing import Protocol

from orchestrator.domain.ids import TaskId
from orchestrator.domain.policy.decision import PolicyDecision
from orchestrator.domain.policy.questions import PolicyQuestion
from orchestrator.domain.policy.rules import HostRules, PolicyActor, PolicySubject, RuleSet


class PolicyGuard(Protocol):
    """Whoever keeps the policy of a run."""

    @property
    def hash(self) -> str:
        """The hash of the files that decide now; empty where there is none."""

    @property
    def asks_before_landing(self) -> bool:
        """False where nothing lands for good, so that nobody is asked about it."""

    @property
    def rule_sets(self) -> Sequence[RuleSet]:
        """The files that decide now, the user's first."""

    async def take_changes(self) -> None:
        """Take up the user's file if it has changed; one that cannot be read leaves the rules as they are."""

    def decide_subject(self, actor: PolicyActor, subject: PolicySubject) -> PolicyDecision:
        """Return what the files say of a subject, as they were last taken up."""

    async def find_refusal(self, actor: PolicyActor, task: TaskId, subjects: Sequence[PolicySubject]) -> str | None:
        """Return why something may not be done now, in words for a model; None if it may.

        What is to be asked about is put into the user's inbox, once for each task; nothing waits for the answer.
        """

    async def ask_person(self, actor: PolicyActor, task: TaskId, question: PolicyQuestion) -> str | None:
        """Return why something may not be done before a person allows it, in words for a model; None once one did."""

    def build_host_rules(self, actor: PolicyActor) -> HostRules | None:
        """Return the rules on hosts that an actor's commands carry; None where no file has any."""


class _NoPolicy:
    """No file: everything is allowed that the other settings allow."""

    hash = ""
    asks_before_landing = False
    rule_sets: Sequence[RuleSet] = ()

    async def take_changes(self) -> None:
        """Do nothing."""

    def decide_subject(self, actor: PolicyActor, subject: PolicySubject) -> PolicyDecision:
        """Return a decision that allows it."""
        return PolicyDecision(effect="allow")

    async def find_refusal(self, actor: PolicyActor, task: TaskId, subjects: Sequence[PolicySubject]) -> str | None:
        """Return None."""
        return None

    async def ask_person(self, actor: PolicyActor, task: TaskId, question: PolicyQuestion) -> str | None:
        """Return that nobody can be asked."""
        return f"A person has to be asked about {question.subject}, and here nobody can be. Do without it."

    def build_host_rules(self, actor: PolicyActor) -> HostRules | None:
        """Return None."""
        return None


NO_POLICY: PolicyGuard = _NoPolicy()
