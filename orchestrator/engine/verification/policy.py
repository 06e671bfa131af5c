"""The tasks that a verifier writes tests for, as a pure function of the state."""

from orchestrator.config.roles import VerifierSettings
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Exit, Task, TaskDraft, TaskStatus
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.files.classification import is_document


def is_verification_due(settings: VerifierSettings, task: TaskState) -> bool:
    """Return True if a verifier has to begin or go on with a task now.

    Where a plan or the configuration asks for it in any case, it begins beside the worker. Where it depends on whether
    a change brings tests of its own, it begins when the change is there.
    """
    if task.status not in {TaskStatus.RUNNING, TaskStatus.JUDGING}:
        return False
    if task.verification is not None:
        return task.verification.exit is None
    if not settings.is_active or task.spec.kind != "leaf" or task.spec.verify is False:
        return False
    if task.spec.verify or settings.when == "always":
        return True
    return settings.when == "no-tests" and _has_candidate_without_tests(task)


def _has_candidate_without_tests(task: TaskState) -> bool:
    candidate = task.candidate
    if task.status != TaskStatus.JUDGING or candidate is None or not task.ends or task.ends[-1].exit != Exit.FINISHED:
        return False
    has_content = not all(map(is_document, candidate.paths))
    return has_content and not any(map(is_test_path, candidate.paths))


def describe_verification(settings: VerifierSettings, task: Task | TaskDraft) -> str:
    """Return for which of its changes a task gets tests of a verifier, for people; empty for none."""
    if not settings.is_active or task.kind != "leaf" or task.verify is False:
        return ""
    if task.verify or settings.when == "always":
        return "a verifier writes tests for it"
    if settings.when == "no-tests":
        return "a verifier writes tests for it, if its change brings none"
    return ""
