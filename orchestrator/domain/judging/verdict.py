"""Verdicts: what happens to a candidate, with the reasons and the receipts it rests on.

The rules by whose ids findings are stored have their checks in `orchestrator.judge.rules`.
"""

from enum import StrEnum
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.run.grant import Grant
from orchestrator.domain.run.task import EndCause


class RuleId(StrEnum):
    """The id of a rule; `description` says in a few words what the rule finds."""

    description: str

    def __new__(cls, value: str, description: str) -> "RuleId":
        """Return the member that is `value` as text and carries its description."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.description = description
        return member

    EMPTY = "empty", "an attempt that changed nothing"
    SIZE = "size", "a change that is too large to be read"
    SECRET = "secret", "a secret of the user's"
    DROPPED = "dropped", "files that were left out of a change"
    FLAGGED = "flagged", "files that a reviewer should know of"
    SCOPE = "scope", "changes outside of the paths that the task named"
    POLICY = "policy", "paths that the policy denies"
    PROTECTED = "protected", "tests or settings that were changed without a grant"
    PICKED_UP = "picked-up", "a new file that a test run reads although no code names it"
    INLINE_TEST = "inline-test", "a test among the product that was changed without a grant"
    CONFLICT_MARKER = "conflict-marker", "a marker of a merge conflict that was left in a file"
    FORGERY = "forgery", "code that could change how a test run ends, or what it says"
    UNREADABLE = "unreadable", "code that is nested too deeply for any rule to look into"
    SUPPRESSION = "suppression", "a tool that is silenced"
    CREDENTIAL = "credential", "what looks like a token or a private key"
    WEAKENED = "weakened", "a test that asks for less than before"
    EVOLVED = "evolved", "a test of the base that was changed, went with its code, or may be skipped"
    IDENTIFIER = "identifier", "names that look alike and are not"
    MODE = "mode", "a file that became executable, a link or a submodule"
    AGENT_RULES = "agent-rules", "a file that tells agents what to do, changed"
    LINTER = "linter", "what linters or type checkers ask for, changed"
    BINARY = "binary", "a file whose content no diff shows"
    GENERATED = "generated", "a file that a program writes, or that nobody can read"
    LAYOUT = "layout", "a change in how a file is laid out, in which another could hide"
    ADDRESSED = "addressed", "text in a change that speaks to whoever reviews it"
    HIDDEN_TEXT = "hidden-text", "characters that a reader does not see"
    FLAKY = "flaky", "a test that passed and failed on one tree"
    NEW_TESTS = "new-tests", "new tests that prove nothing"
    REPLACED = "replaced", "a function of the test runner, Python or a package that was replaced while tests ran"
    LOADED = "loaded", "plugins and modules that a test run loads and the base's does not"
    WRITTEN = "written", "tests or settings that a test run wrote"
    UNGUARDED = "unguarded", "a gate whose outcomes nobody guards"
    LENIENT = "lenient", "an object that is equal to more than what a test expects"
    TEST_AWARE = "test-aware", "code that behaves otherwise when it is not being tested"
    SURVIVOR = "survivor", "a place of the change that could be altered without a test that notices"


class VerdictKind(StrEnum):
    """merge: to the queue. revise: same workspace, with the evidence. restart: fresh workspace and context.

    split: back to its planner, which divides it. reject: the task ends. escalate: a person or a working provider is
    needed; it says nothing about the work.
    """

    MERGE = "merge"
    REVISE = "revise"
    RESTART = "restart"
    SPLIT = "split"
    REJECT = "reject"
    ESCALATE = "escalate"


class PointFinding(FrozenModel):
    """Whether one point of a task is met, with what shows it: `path:line` of the change, or the id of a check.

    `id` is `outcome`, or `A1`, `A2`, … for the task's acceptance points in their order.
    """

    id: str
    met: bool
    evidence: tuple[str, ...] = ()


class LensVote(FrozenModel):
    """One independent review of a change. `unreadable` means the reviewer's answer could not be understood.

    `accepted` are ids of proposals for the field guide that it takes to be true.
    """

    lens: str
    model: str
    decision: Literal["approve", "revise", "restart", "split", "reject", "unreadable"]
    reasons: tuple[str, ...] = ()
    findings: tuple[PointFinding, ...] = ()
    accepted: tuple[str, ...] = ()


class Finding(FrozenModel):
    """A rule's remark on a change; a blocking one keeps it from landing.

    `rule` is the value of a `RuleId`. `is_granted` tells that it would have blocked, had the plan not granted that its
    file changes. `path` and `line` (from 1) say where it is; `path` is empty where it is about no single file, and in
    old journals. `needed_grant` is what the plan would have to grant for it not to block; None where no grant helps.
    """

    rule: str
    text: str
    is_blocking: bool
    is_granted: bool = False
    path: str = ""
    line: int | None = None
    needed_grant: Grant | None = None


class Verdict(FrozenModel):
    """The judge's decision on one attempt; `receipts` are the keys of the receipts it rests on.

    `flags` are what was noticed in the change and decided nothing: text aimed at reviewers, hidden characters, files
    that the task did not name. `findings` are those and what blocked, by rule. `cause` names why it is no merge. Old
    journals have neither of the two. `needed_grants` are what the plan would have to grant for it to land; empty where
    no grant helps. `verifier_failures` are the tests of a verifier that the candidate fails. `is_provisional` tells
    that only the tests which the change concerns ran so far: the whole gate runs before it lands.
    """

    kind: VerdictKind
    reasons: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    receipts: tuple[str, ...] = ()
    votes: tuple[LensVote, ...] = ()
    cause: EndCause | None = None
    needed_grants: tuple[Grant, ...] = ()
    verifier_failures: tuple[str, ...] = ()
    is_provisional: bool = False
