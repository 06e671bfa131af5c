"""The verifier's work on a task: it writes tests, and the harness keeps those that end on the base as it claims."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.verification import VerificationEnded, VerificationStarted, VerifierTestsTried
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.judging.verifier_tests import (
    BaseOutcome,
    TestFileProblem,
    TestsTrial,
    VerificationState,
    VerifierFile,
    VerifierFileKind,
)
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Exit
from orchestrator.engine.context import RunContext
from orchestrator.engine.verification.file_runs import VerifierFileRunner
from orchestrator.engine.verification.test_runs import VerifierTestRunner
from orchestrator.errors import LimitReached
from orchestrator.judge.files.changed_file import is_test_path
from orchestrator.judge.files.verifier_files import (
    MAX_FILE_CHARS,
    MAX_SCRIPTS,
    find_file_problem,
    find_script_problem,
    fold_stem,
    is_verifier_path,
)
from orchestrator.judge.gate.verifier_outcomes import FileOutcomes, find_base_problem
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt
from orchestrator.ports.ledger import record_notice_once
from orchestrator.ports.roles import ContextPiece, ProposedFile, ProposedTests, Roles, SessionFailure, VerifierBrief
from worktrees.object_store.trees import TreeEntry, list_tree, read_entry_contents

MAX_TRIALS = 3
"""Submissions of one verifier that are run; after the last one, what ends otherwise than it claims does not count."""
_MAX_PATHS = 60
_MAX_EXAMPLES = 2
_EXAMPLE_BYTES = 6_000


async def verify_task(context: RunContext, roles: Roles, task: TaskId) -> None:
    """Have tests written for a task, or go on where that was cut off, and record those that count."""
    state = context.state.tasks[task]
    if state.verification is None:
        await context.journal.append(VerificationStarted(task=task, base=state.attempts[-1].base))
    trial = _BaseTrial(context, task)
    base = trial.verification.base
    workspace = await context.hands.open_workspace(base, Purpose(f"verifier's tests for {task}"))
    try:
        brief = await _build_brief(context, state, base)
        result = await roles.verifier.write_tests(brief, workspace, trial.try_tests)
    except LimitReached as limit:
        if limit.config_path != ("roles", "verifier"):
            raise
        result = SessionFailure(exit=Exit.OUT_OF_BUDGET, detail=str(limit))
    finally:
        await workspace.close()
    await _record_end(context, task, result)


async def _record_end(context: RunContext, task: TaskId, result: ProposedTests | SessionFailure) -> None:
    """Record the files that count: those of the last submission that end on the base as their verifier claims."""
    trials = _get_verification(context, task).trials
    files = trials[-1].sound_files if trials else ()
    ended = VerificationEnded(task=task, exit=Exit.FINISHED, files=files)
    if isinstance(result, SessionFailure):
        ended = VerificationEnded(task=task, exit=result.exit, detail=result.detail, files=files)
    problems = list(_iterate_problem_lines(trials[-1].problems)) if trials else []
    why = "; ".join(filter(None, (ended.detail, *problems)))
    if why:
        text = f"tests of the verifier for {task} that do not count: {why}"
        await record_notice_once(
            context.journal, Noticed(level="info", code=NoticeCode.VERIFIER_TESTS_DROPPED, subject=task, text=text)
        )
    await context.journal.append(ended)


def _get_verification(context: RunContext, task: TaskId) -> VerificationState:
    known = context.state.tasks[task].verification
    if known is None:
        raise ValueError(f"no verifier has begun with task {task}")
    return known


def _iterate_problem_lines(problems: Sequence[TestFileProblem]) -> Iterator[str]:
    for problem in problems:
        yield f"{problem.path}: {problem.problem}" if problem.path else problem.problem


async def _build_brief(context: RunContext, state: TaskState, base: CommitId) -> VerifierBrief:
    entries = [one for one in await list_tree(context.repository.git, base) if one.kind == "blob"]
    tests = [entry for entry in entries if is_test_path(entry.path)]
    return VerifierBrief(
        task=state.spec,
        gate=context.gate.commands,
        test_paths=tuple(entry.path for entry in tests[:_MAX_PATHS]),
        examples=await _read_examples(context, tests),
        max_files=VerifierTestRunner(context).max_files,
        max_scripts=MAX_SCRIPTS,
    )


async def _read_examples(context: RunContext, tests: Sequence[TreeEntry]) -> tuple[ContextPiece, ...]:
    fitting = []
    for entry in tests:
        if 0 < (entry.size or 0) <= _EXAMPLE_BYTES and is_verifier_path(entry.path):
            fitting.append(entry)
    fitting.sort(key=lambda entry: -(entry.size or 0))
    pieces = []
    for path, content in (await read_entry_contents(context.repository.git, fitting[:_MAX_EXAMPLES])).items():
        text = content.decode("utf-8", "replace")
        pieces.append(ContextPiece(label="test", title=f"A test of the project, {path}", text=text))
    return tuple(pieces)


@dataclass(frozen=True)
class _BaseTrial:
    """Tries a verifier's submissions on the base of its task."""

    context: RunContext
    task: TaskId

    @property
    def verification(self) -> VerificationState:
        """The task's verification as it stands."""
        return _get_verification(self.context, self.task)

    async def try_tests(self, proposed: Sequence[ProposedFile]) -> Sequence[str]:
        """Return what has to be mended; nothing where all is well, or nothing more is tried.

        The same submission as the last one is not tried again: it may be that very one, after a kill.
        """
        files = tuple([await self._store_file(file) for file in proposed])
        trials = self.verification.trials
        if not trials or trials[-1].files != files:
            trial = await self._try_files(files)
            await self.context.journal.append(VerifierTestsTried(task=self.task, trial=trial))
            trials = self.verification.trials
        if len(trials) >= MAX_TRIALS:
            return ()
        return list(_iterate_problem_lines(trials[-1].problems))

    async def _store_file(self, file: ProposedFile) -> VerifierFile:
        content = await self.context.journal.store_text(file.text[: MAX_FILE_CHARS + 1])
        return VerifierFile(path=file.path, base_outcome=file.base_outcome, content=content, kind=file.kind)

    async def _try_files(self, files: tuple[VerifierFile, ...]) -> TestsTrial:
        problems = await self._find_unusable_files(files)
        bad = {problem.path for problem in problems}
        usable = [file for file in files if file.path not in bad]
        runner, purpose = VerifierFileRunner(self.context), Purpose(f"{self.task}, a verifier's tests on the base")
        runs = await runner.run_files(self.verification.base, usable, purpose)
        for file in usable:
            if problem := await self._describe_base_problem(file.base_outcome, runs[file.path]):
                problems.append(TestFileProblem(path=file.path, problem=problem))
        receipts = tuple(dict.fromkeys(run.receipt for run in runs.values()))
        return TestsTrial(files=files, problems=tuple(problems), receipts=receipts)

    async def _find_unusable_files(self, files: Sequence[VerifierFile]) -> list[TestFileProblem]:
        """Return what is wrong with files before anything is run."""
        paths = {entry.path for entry in await list_tree(self.context.repository.git, self.verification.base)}
        stems = {fold_stem(path) for path in paths if is_test_path(path)}
        most = {
            VerifierFileKind.TESTS: VerifierTestRunner(self.context).max_files,
            VerifierFileKind.SCRIPT: MAX_SCRIPTS,
        }
        numbers, problems = Counter[VerifierFileKind](), []
        for file in files:
            text = await self.context.journal.read_text(file.content)
            if file.kind == VerifierFileKind.SCRIPT:
                problem = find_script_problem(file.path, text, stems)
            else:
                problem = await to_thread.run_sync(find_file_problem, file.path, text, paths, stems)
            numbers[file.kind] += 1
            if numbers[file.kind] > most[file.kind]:
                problem = f"it is one too many: write at most {most[file.kind]}"
            if problem:
                problems.append(TestFileProblem(path=file.path, problem=problem))
            stems.add(fold_stem(file.path))
        return problems

    async def _describe_base_problem(self, claimed_outcome: BaseOutcome, run: FileOutcomes) -> str:
        problem = find_base_problem(claimed_outcome, run)
        if not problem or not run.red_tests:
            return problem
        receipt = self.context.state.receipts[run.receipt]
        printed = extract_failure_excerpt(await self.context.journal.read_text(receipt.output), run.red_tests)
        return f"{problem}\n{printed}" if printed else problem
