"""The policy on the paths of a change: what a person is asked before it lands, and when that was answered already."""

import pytest

from orchestrator.config.policy_file import parse_rule_set
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import CommitId, TaskId, TreeId, build_approval_item, build_policy_subject
from orchestrator.domain.policy.decision import PolicyDecision, decide_policy
from orchestrator.domain.policy.questions import digest_question
from orchestrator.domain.policy.rules import HostRules, PolicyActor, PolicySubject, RuleSet
from orchestrator.domain.run.approval import Approval, ApprovalDecision, ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt
from orchestrator.engine.control.policy_paths import find_denied_paths, list_actor_paths, list_merge_questions

TASK, WORKER = TaskId("a"), PolicyActor(role="worker")
ASKS = '[[rule]]\neffect = "ask"\nwrites = "infra/**"\n[[rule]]\neffect = "ask"\nmerges = "db/**"\n'


class FixedGuard:
    """A guard on one text."""

    hash = "x"
    asks_before_landing = True

    def __init__(self, text: str) -> None:
        self.rule_sets: tuple[RuleSet, ...] = (parse_rule_set(text, "user", "policy.toml"),)

    async def take_changes(self) -> None:
        """Nothing changes."""

    def decide_subject(self, actor: PolicyActor, subject: PolicySubject) -> PolicyDecision:
        return decide_policy(self.rule_sets, actor, subject)

    async def find_refusal(self, actor: PolicyActor, task: TaskId, subjects: object) -> str | None:
        raise AssertionError("nobody calls a tool here")

    def build_host_rules(self, actor: PolicyActor) -> HostRules | None:
        raise AssertionError("nobody reaches a host here")


def answered(path: str, decision: ApprovalDecision | None) -> RunState:
    """A run in which somebody was asked whether a path may be written."""
    subject = build_policy_subject(TASK, digest_question(WORKER, PolicySubject(kind="write", name=path)))
    item = build_approval_item("policy", subject)
    asked = Approval(item=item, matter="policy", subject=subject, title="?")
    return RunState(approvals={item: ApprovalState(approval=asked, decision=decision)})


def questions(state: RunState, *paths: str) -> list[str]:
    return list_merge_questions(FixedGuard(ASKS), state, TASK, WORKER, paths)


def test_paths_that_a_command_wrote_unasked_and_paths_to_be_looked_at_are_asked_about_with_their_rules() -> None:
    found = questions(RunState(), "a.py", "infra/main.tf", "db/schema.sql")
    assert found == [
        "the policy asks about infra/main.tf (policy.toml:1)",
        "the policy asks about db/schema.sql (policy.toml:4)",
    ]


@pytest.mark.parametrize(("decision", "asks"), [("approve", 0), ("reject", 1), (None, 1)])
def test_a_path_that_a_person_let_be_written_is_not_asked_about_again(
    decision: ApprovalDecision | None, asks: int
) -> None:
    assert len(questions(answered("./infra/main.tf", decision), "infra/main.tf")) == asks


def test_of_many_questions_the_first_are_told_and_the_rest_counted() -> None:
    found = questions(RunState(), *(f"db/{number}.sql" for number in range(30)))
    assert (len(found), found[-1]) == (11, "and about 20 more")


def test_what_is_only_asked_about_is_not_denied_and_the_rule_of_what_is_denied_is_named() -> None:
    guard = FixedGuard(ASKS + '[[rule]]\neffect = "deny"\nmerges = "db/keys/**"\n')
    found = find_denied_paths(guard, WORKER, ["infra/a", "db/keys/a", "db/b"])
    assert found == {"db/keys/a": "policy.toml:7"}


def test_the_tests_of_a_verifier_in_a_candidate_are_no_writing_of_its_worker() -> None:
    attempt = Attempt(task=TASK, number=1, mode="fresh", base=CommitId("b"), model="m", variant="cheap")
    taken = CandidateTaken(
        key="k",
        task=TASK,
        number=1,
        commit=CommitId("c"),
        tree=TreeId("t"),
        ref="r",
        paths=("src/a.py", "tests/test_a.py"),
        added=1,
        removed=0,
        verifier_tests=("tests/test_a.py",),
    )
    (worker, own), (verifier, added) = list_actor_paths(attempt, taken)
    assert ((worker.role, worker.variant), list(own)) == (("worker", "cheap"), ["src/a.py"])
    assert (verifier.role, list(added)) == ("verifier", ["tests/test_a.py"])
