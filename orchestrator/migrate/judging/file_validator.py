"""Validate changed files beside the tests: by the recipe's rules, and its checks of single files.

It is asked apart from the steps, so that a step's result may come from the cache whatever the rules are by now.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import CheckSpec, Outcomes
from orchestrator.domain.migration.files import FailureKind, FileRecord
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.verify import Level
from orchestrator.domain.text.command_lines import fill_in_files
from orchestrator.engine.context import RunContext
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.judge.gate.check_command import REPORT_VARIABLE
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.judge.reports import parse_report
from orchestrator.judge.reports.failure_signature import build_failure_signature, extract_failure_excerpt
from orchestrator.judge.reports.telling_line import find_telling_line
from orchestrator.migrate.judging.file_rules import FileRules
from orchestrator.migrate.judging.invariants import RuleViolation
from orchestrator.migrate.ladder.passes import is_changed
from orchestrator.migrate.steps.file_outcomes import FileProblem, restore_file
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Workspace
from worktrees.object_store.trees import read_blobs, read_files

_LINE_CHARS = 200


class FileValidator:
    """Judges the changed files of one run by one recipe, each by itself."""

    def __init__(self, context: RunContext, recipe: Recipe, rules: FileRules) -> None:
        self._context = context
        self._rules = rules
        self._checks = StepChecks(recipe)

    async def restore_invalid_files(self, paths: Iterable[str], start: CommitId, level: Level) -> list[FileMoved]:
        """Put back the changed ones of these files that break a rule; return the moves that did.

        Args:
            paths: of files whose steps are done.
            start: the commit from which they started.
            level: `step` right after one, `queue` at the end of a pass.
        """
        if not (files := self.list_changed_files(paths)):
            return []
        violations = await self._find_broken_rules(files, start, level)
        if level == "step":
            sound = [file for file in files if file.path not in violations]
            violations |= await self._find_failed_checks(sound, start)
        return await self.restore_files(violations, FailureKind.RULE)

    def list_changed_files(self, paths: Iterable[str]) -> list[FileRecord]:
        """Return those of the files that have a new content that has not landed."""
        return list(filter(is_changed, map(self._context.state.migration.files.__getitem__, paths)))

    async def restore_files(self, violations: Mapping[str, RuleViolation], failure: FailureKind) -> list[FileMoved]:
        """Put back these files, by path, each for its reason; return the moves that did."""
        moves = []
        for path, violation in violations.items():
            file = self._context.state.migration.files[path]
            move = FileMoved(path=path, status=file.status, rung=file.rung)
            moves.append(restore_file(move, FileProblem(failure, *violation), file.blob))
        await self._context.journal.append(*moves)
        return moves

    async def _find_broken_rules(
        self, files: Sequence[FileRecord], start: CommitId, level: Level
    ) -> dict[str, RuleViolation]:
        blobs = {file.path: file.blob for file in files if file.blob}
        if not self._rules.needs_workspace(level):
            return await self._rules.find_violations(blobs, level)
        async with self._context.lend_workspace(start, Purpose("rules for files")) as workspace:
            for path, content in (await self._read_contents(files)).items():
                await workspace.write_file(path, content)
            return await self._rules.find_violations(blobs, level, workspace)

    async def _find_failed_checks(self, files: Sequence[FileRecord], start: CommitId) -> dict[str, RuleViolation]:
        found: dict[str, RuleViolation] = {}
        if not self._checks or not files:
            return found
        contents = await self._read_contents(files)
        async with self._context.lend_workspace(start, Purpose("checks of single files")) as workspace:
            for file in files:
                violation = await self._check_file(workspace, file, contents[file.path])
                if violation is not None:
                    found[file.path] = violation
        return found

    async def _check_file(self, workspace: Workspace, file: FileRecord, content: bytes) -> RuleViolation | None:
        """Return what a check has against one file; the others are in the workspace as they were at the start."""
        before = (await read_blobs(self._context.repository.git, [file.branch_blob]))[file.branch_blob]
        await workspace.write_file(file.path, content)
        try:
            return await self._checks.find_violation(workspace, file.path, before, content)
        finally:
            await workspace.write_file(file.path, before)

    async def _read_contents(self, files: Sequence[FileRecord]) -> Mapping[str, bytes]:
        git = self._context.repository.git
        return await read_files(git, {file.path: file.blob for file in files if file.blob})


class StepChecks:
    """The recipe's checks of level step: commands on one file, where it was changed. Falsy where there are none."""

    def __init__(self, recipe: Recipe) -> None:
        self._checks: Sequence[CheckSpec] = recipe.build_checks("step")

    def __bool__(self) -> bool:
        return bool(self._checks)

    async def find_violation(
        self, workspace: Workspace, path: str, before: bytes, after: bytes
    ) -> RuleViolation | None:
        """Return what a changed file loses against what it was; None if it loses nothing.

        The workspace holds `after` at `path`, and does so again at the end. Only where a check is red the same is asked
        of `before`: a file is not blamed for what was so already.

        Raises:
            EnvironmentProblem: this host has no sandbox to run commands in.
        """
        for spec in self._checks:
            now = await _run_check(workspace, spec, path)
            if now.is_green:
                continue
            await workspace.write_file(path, before)
            try:
                then = await _run_check(workspace, spec, path)
            finally:
                await workspace.write_file(path, after)
            if violation := _compare_runs(spec, then, now):
                return violation
        return None


@dataclass(frozen=True)
class _CheckRun:
    """One run of a check on a file: its result, the outcomes it told of, and what it printed."""

    result: CommandResult
    outcomes: Outcomes | None
    output: str

    @property
    def is_green(self) -> bool:
        """True if it exited with 0 and told of nothing red."""
        return self.result.is_success and not any(outcome.is_red for outcome in (self.outcomes or {}).values())

    @property
    def ending(self) -> str:
        """The way it ended, in words."""
        if self.result.exit_code is not None:
            return f"exits with {self.result.exit_code}"
        return f"was ended: {self.result.ending}"


async def _run_check(workspace: Workspace, spec: CheckSpec, path: str) -> _CheckRun:
    line = fill_in_files(spec.run, [path]).replace("{report}", f'"${REPORT_VARIABLE}"')
    command = ShellCommand(line=line, timeout_s=spec.timeout_s, files={REPORT_VARIABLE: "report.xml"})
    result, output = await run_and_read(workspace, command)
    if result.ending != CommandEnding.EXITED:
        return _CheckRun(result, None, output)
    report = await to_thread.run_sync(
        parse_report, spec.report, result.log, result.files.get(REPORT_VARIABLE), result.exit_code
    )
    return _CheckRun(result, report.outcomes, output)


def _compare_runs(spec: CheckSpec, then: _CheckRun, now: _CheckRun) -> RuleViolation | None:
    if then.outcomes is None and not then.is_green:
        return None  # it was red before, and does not tell of what
    difference = compare_outcomes(then.outcomes, then.result.exit_code, now.outcomes, now.result.exit_code)
    if difference.is_green:
        return None
    lost = difference.lost_tests
    excerpt = extract_failure_excerpt(now.output, lost)
    signature = build_failure_signature(excerpt) or f"check {spec.id} {now.ending}"
    if lost:
        reason, line = f"check {spec.id} loses {', '.join(lost[:3])}", excerpt.rpartition("\n")[2].strip()
    else:
        reason, line = f"check {spec.id} {now.ending}", find_telling_line(now.output)
    if line:
        reason += f": {line[:_LINE_CHARS]}"
    return RuleViolation(reason, signature)
