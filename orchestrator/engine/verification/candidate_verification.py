"""A candidate under the tests that a verifier wrote for its task, and the tests that its worker contests."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.event.verification import ContestDecided
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.verifier_tests import BaseOutcome, Contest, VerifierFailures, VerifierFile
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.engine.verification.file_runs import VerifierFileRunner
from orchestrator.judge.gate.verifier_outcomes import (
    FileOutcomes,
    exclude_dropped_tests,
    find_base_problem,
    list_candidate_failures,
)
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.ports.roles import ContestBrief, ContestRuling, Roles

_LOOKS = 2
"""Runs of a candidate in which a test has to be red: one that is so only now and then shows nothing."""
_MAX_CHANGE_CHARS = 60_000


async def find_verifier_failures(
    context: RunContext, roles: Roles, state: TaskState, candidate: CandidateTaken, change: str
) -> VerifierFailures:
    """Return the verifier's tests that a candidate fails, after a judge has decided on those that are contested.

    Args:
        context: of the run.
        roles: of which the judge is asked about contested tests.
        state: of the task.
        candidate: that is green otherwise.
        change: as reviewers see it.

    Raises:
        EnvironmentProblem: the tests could not be started.
    """
    files = await _select_counting_files(context, state)
    if not files:
        return VerifierFailures()
    failures, runs = await _run_on_candidate(context, state, candidate, files)
    receipts = tuple(dict.fromkeys(run.receipt for run in runs.values()))
    standing = _exclude_dropped(context, state, failures)
    if standing:
        await _decide_contests(context, roles, state, standing, runs, change)
        standing = _exclude_dropped(context, state, standing)
    tests = tuple(test for found in standing.values() for test in found)
    printed = [await _read_excerpt(context, runs[path], found) for path, found in standing.items()]
    return VerifierFailures(tests=tests, receipts=receipts, excerpt="\n".join(filter(None, printed)))


async def _select_counting_files(context: RunContext, state: TaskState) -> tuple[VerifierFile, ...]:
    """Return the files that count on the base of the latest attempt, which may be a later one than they were tried on.

    What characterises the old base counts only where it is green on the new one too.
    """
    verification = state.verification
    if verification is None or not verification.counting_files:
        return ()
    base = state.attempts[-1].base
    if base == verification.base:
        return verification.counting_files
    green_files = []
    for file in verification.counting_files:
        if file.base_outcome == BaseOutcome.CHARACTERISATION:
            green_files.append(file)
    purpose = Purpose(f"{state.spec.id}, a verifier's tests on the new base")
    runs = await VerifierFileRunner(context).run_files(base, green_files, purpose)
    changed = {file.path for file in green_files if find_base_problem(file.base_outcome, runs[file.path])}
    return tuple(file for file in verification.counting_files if file.path not in changed)


async def _run_on_candidate(
    context: RunContext, state: TaskState, candidate: CandidateTaken, files: Sequence[VerifierFile]
) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, FileOutcomes]]:
    """Return path → tests that are red in every run, and the first run of each file."""
    runner, commit = VerifierFileRunner(context), CommitId(candidate.commit)
    purpose = Purpose.for_attempt(state.spec.id, candidate.number).with_detail("a verifier's tests")
    base = state.attempts[-1].base
    first = await runner.run_on_candidate(commit, base, files, purpose)
    runs = {path: [run] for path, run in first.items()}
    if any(list_candidate_failures(path, found) for path, found in runs.items()):
        for look in range(1, _LOOKS):
            again = await runner.run_on_candidate(commit, base, files, purpose.with_detail("again"), look)
            for path, run in again.items():
                runs[path].append(run)
    failures = {}
    for path, found in runs.items():
        failures[path] = list_candidate_failures(path, found)
    return failures, first


def _exclude_dropped(
    context: RunContext, state: TaskState, failures: Mapping[str, Sequence[str]]
) -> dict[str, tuple[str, ...]]:
    verification = context.state.tasks[state.spec.id].verification
    return exclude_dropped_tests(failures, verification.dropped_tests if verification else frozenset())


async def _decide_contests(
    context: RunContext,
    roles: Roles,
    state: TaskState,
    failures: Mapping[str, Sequence[str]],
    runs: Mapping[str, FileOutcomes],
    change: str,
) -> None:
    """Ask the judge about red tests that are contested; without an answer that can be read a test stands for now."""
    verification = context.state.tasks[state.spec.id].verification
    for place, contest in enumerate(verification.contests if verification else ()):
        path = next((path for path, tests in failures.items() if contest.test in (path, *tests)), None)
        if contest.is_dropped is not None or path is None or verification is None:
            continue
        file = next(file for file in verification.files if file.path == path)
        brief = await _build_contest_brief(context, state, contest, place, file, runs[path], change)
        ruling = await roles.judge.judge_contest(brief)
        if isinstance(ruling, ContestRuling):
            decision = ruling.model_dump(include={"is_dropped", "reasons", "model"})
            number = len(state.attempts)
            await context.journal.append(
                ContestDecided(task=state.spec.id, number=number, test=contest.test, **decision)
            )


async def _build_contest_brief(
    context: RunContext,
    state: TaskState,
    contest: Contest,
    place: int,
    file: VerifierFile,
    run: FileOutcomes,
    change: str,
) -> ContestBrief:
    return ContestBrief(
        task=state.spec,
        number=len(state.attempts),
        place=place,
        test=contest.test,
        file=await context.journal.read_text(file.content),
        why=contest.why,
        change=change[:_MAX_CHANGE_CHARS],
        printed=await _read_excerpt(context, run, (contest.test,)),
    )


async def _read_excerpt(context: RunContext, run: FileOutcomes, tests: Sequence[str]) -> str:
    """Return what a run printed of these tests, or how it ended, or what it left out."""
    if run.ending or run.omission:
        return f"the run {run.ending or run.omission}"
    receipt = context.state.receipts[run.receipt]
    return extract_failure_excerpt(await context.journal.read_text(receipt.output), tests)
