"""Render what `show` prints of a verifier's work on a task: files that count or do not, and contested tests."""

from collections.abc import Iterator

from orchestrator.domain.judging.verifier_tests import Contest, VerificationState
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.task.receipt import quote_text


def render_verification_lines(verification: VerificationState | None) -> Iterator[str]:
    """Yield the tests of a verifier for a task; nothing where it had none."""
    if verification is None:
        return
    ending = "is at work" if verification.exit is None else f"ended {verification.exit}"
    waived = ", and a person had the task tried again without its tests" * verification.is_waived
    detail = add_lead(": ", to_one_line(verification.detail))
    yield f"\nverifier {ending}{detail}, base {verification.base[:12]}{waived}"
    for file in verification.files:
        yield f"  {to_one_line(file.path)}: {file.base_outcome}, {file.base_outcome.description}"
    if verification.trials:
        for problem in verification.trials[-1].problems:
            yield f"  does not count: {quote_text(f'{problem.path}: {problem.problem}')}"
    for contest in verification.contests:
        yield from _render_contest(contest)


def _render_contest(contest: Contest) -> Iterator[str]:
    decision = "not decided"
    if contest.is_dropped is not None:
        decision = "dropped" if contest.is_dropped else "stands"
    yield f"  contested in attempt {contest.number}, {decision}: {to_one_line(contest.test)}"
    yield f"    the worker: {quote_text(contest.why)}"
    for reason in contest.reasons:
        yield f"    the judge: {quote_text(reason)}"
