"""Which tasks get tests of a verifier, when it begins, and what waits for it."""

from typing import Any

import pytest

from orchestrator.config.layers import load_config
from orchestrator.config.roles import VerifierSettings
from orchestrator.domain.event.work import AttemptEnded, CandidateTaken
from orchestrator.domain.ids import CommitId, TaskId, TreeId
from orchestrator.domain.judging.verifier_tests import VerificationState
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, Exit, Task, TaskStatus
from orchestrator.engine.goal.actions import Action, ContinueAttempt, JudgeAttempt, VerifyTask
from orchestrator.engine.goal.schedule import ScheduleLimits, list_due_actions
from orchestrator.engine.verification.policy import describe_verification, is_verification_due

A = TaskId("a")


def settings(**values: Any) -> VerifierSettings:
    verifier = {"model": "m", **values}
    return load_config(None, {"roles": {"verifier": verifier}}, environ={}).config.roles.verifier


def task(status: TaskStatus, *paths: str, verify: bool | None = None, **more: Any) -> TaskState:
    spec = Task(id=A, parent=None, depth=1, kind="leaf", title="", outcome="", verify=verify)
    attempt = Attempt(task=A, number=1, mode="fresh", base=CommitId("c"), model="m")
    taken = CandidateTaken(
        key="k", task=A, number=1, commit=CommitId("d"), tree=TreeId("t"), ref="r", paths=paths, added=1, removed=0
    )
    ended = AttemptEnded(task=A, number=1, exit=Exit.FINISHED)
    is_over = status == TaskStatus.JUDGING
    done = {"ends": (ended,), "candidates": (taken,)} if is_over else {}
    return TaskState(spec=spec, status=status, attempts=(attempt,), **done, **more)


@pytest.mark.parametrize(
    ("when", "verify", "at_work", "without_tests", "with_tests"),
    [
        ("off", None, False, False, False),
        ("off", True, False, False, False),
        ("planned", None, False, False, False),
        ("planned", True, True, True, True),
        ("no-tests", None, False, True, False),
        ("no-tests", True, True, True, True),
        ("no-tests", False, False, False, False),
        ("always", None, True, True, True),
        ("always", False, False, False, False),
    ],
)
def test_policy_and_plan_say_which_tasks_get_tests_and_when(
    when: str, verify: bool | None, at_work: bool, without_tests: bool, with_tests: bool
) -> None:
    verifier = settings(when=when)
    assert is_verification_due(verifier, task(TaskStatus.RUNNING, verify=verify)) == at_work
    assert is_verification_due(verifier, task(TaskStatus.JUDGING, "a.py", verify=verify)) == without_tests
    assert is_verification_due(verifier, task(TaskStatus.JUDGING, "a.py", "test_a.py", verify=verify)) == with_tests


def test_a_change_of_documents_alone_needs_no_tests() -> None:
    assert not is_verification_due(settings(), task(TaskStatus.JUDGING, "README.md", "docs/a.rst"))
    assert is_verification_due(settings(), task(TaskStatus.JUDGING, "README.md", "a.py"))


def test_without_a_model_there_is_no_verifier() -> None:
    assert not is_verification_due(settings(model="", when="always"), task(TaskStatus.RUNNING))
    assert describe_verification(settings(model="", when="always"), task(TaskStatus.RUNNING).spec) == ""


def test_a_verifier_is_at_work_beside_the_worker_and_the_verdict_waits_for_it() -> None:
    bounds = ScheduleLimits(max_workers=1, max_attempts=2, verifier=settings(when="always"))
    begun = VerificationState(base=CommitId("c"))
    ended = begun.model_copy(update={"exit": Exit.STUCK})

    def due(one: TaskState, *busy: Action) -> list[Action]:
        return list_due_actions(RunState(tasks={A: one}), bounds, frozenset(busy))

    assert due(task(TaskStatus.RUNNING)) == [ContinueAttempt(A), VerifyTask(A)]
    assert due(task(TaskStatus.RUNNING), ContinueAttempt(A)) == [VerifyTask(A)]
    assert due(task(TaskStatus.RUNNING, verification=begun), VerifyTask(A)) == [ContinueAttempt(A)]
    assert due(task(TaskStatus.JUDGING, verification=begun), VerifyTask(A)) == []
    assert due(task(TaskStatus.JUDGING, verification=begun)) == [VerifyTask(A)], "after a restart it goes on"
    assert due(task(TaskStatus.JUDGING, verification=ended)) == [JudgeAttempt(A)]


def test_at_a_spent_budget_only_what_is_finished_is_verified() -> None:
    bounds = ScheduleLimits(max_workers=1, max_attempts=2, finish_only=True, verifier=settings(when="always"))
    assert list_due_actions(RunState(tasks={A: task(TaskStatus.RUNNING)}), bounds, frozenset()) == []
    assert list_due_actions(RunState(tasks={A: task(TaskStatus.JUDGING)}), bounds, frozenset()) == [VerifyTask(A)]
