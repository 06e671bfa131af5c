"""What must hold of a changed file beside the tests: the recipe's rules, its checks of single files, idempotence.

It is asked apart from the steps, so that a step's result may come from the cache whatever the rules are by now.
"""

from collections.abc import Mapping, Sequence

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.ids import CommitId
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.verify import Level
from orchestrator.domain.run.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.file_change import RuleViolation
from orchestrator.migrate.judging.file_rules import FileRules
from orchestrator.migrate.judging.step_checks import StepChecks
from orchestrator.migrate.ladder.passes import is_changed
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.steps.idempotence import NOT_IDEMPOTENT, find_non_idempotent_files
from orchestrator.migrate.steps.step_workspace import StepRun
from orchestrator.ports.hands import Workspace
from worktrees.object_store.trees import read_blobs

_REPEATS = RuleViolation("the step that made the change would change it once more", NOT_IDEMPOTENT)


class FileValidator:
    """Weighs the files of one run by one recipe."""

    def __init__(self, context: RunContext, recipe: Recipe, rules: FileRules) -> None:
        self._context = context
        self._recipe = recipe
        self._rules = rules
        self._checks = StepChecks(recipe)

    async def restore_invalid_files(self, paths: Sequence[str], start: CommitId, level: Level) -> None:
        """Put back the changed ones of these files that do not hold what they have to.

        Args:
            paths: of files whose steps are done.
            start: the commit from which they started.
            level: `step` right after one, `queue` at the end of a pass.
        """
        files = [file for path in paths if is_changed(file := self._context.state.files[path])]
        if not files:
            return
        broken = await self._by_rules(files, start, level)
        sound = [file for file in files if file.path not in broken]
        broken |= await self._by_checks(sound, start) if level == "step" else {}
        broken |= await self._by_repeating(sound, start, level)
        await self._context.journal.append(*(_restored(self._context.state.files[p], b) for p, b in broken.items()))

    async def _by_rules(self, files: Sequence[FileRecord], start: CommitId, level: Level) -> dict[str, RuleViolation]:
        blobs = {}
        for file in files:
            if file.blob:
                blobs[file.path] = file.blob
        if not self._rules.needs_workspace(level):
            return await self._rules.find_violations(blobs, self._context.state.files, level)
        workspace = await self._context.hands.open_workspace(start, Purpose("rules for files"))
        try:
            for path, content in (await self._contents(files)).items():
                await workspace.write_file(path, content)
            return await self._rules.find_violations(blobs, self._context.state.files, level, workspace)
        finally:
            await workspace.close()

    async def _by_checks(self, files: Sequence[FileRecord], start: CommitId) -> dict[str, RuleViolation]:
        if not self._checks or not files:
            return {}
        workspace = await self._context.hands.open_workspace(start, Purpose("checks of single files"))
        try:
            contents = await self._contents(files)
            found = {}
            for file in files:
                found[file.path] = await self._checked(workspace, file, contents[file.path])
        finally:
            await workspace.close()
        return {path: broken for path, broken in found.items() if broken}

    async def _checked(self, workspace: Workspace, file: FileRecord, content: bytes) -> RuleViolation | None:
        """What a check has against one file; the others are in the workspace as they were at the start."""
        git = self._context.repository.git
        before = (await read_blobs(git, [file.branch_blob]))[file.branch_blob]
        await workspace.write_file(file.path, content)
        try:
            return await self._checks.find_violation(workspace, file.path, before, content)
        finally:
            await workspace.write_file(file.path, before)

    async def _by_repeating(
        self, files: Sequence[FileRecord], start: CommitId, level: Level
    ) -> dict[str, RuleViolation]:
        if level == "step":
            levels = {"step"}
        else:
            levels = {"shard", "queue"}
        if not any(rule.kind == "idempotent" and rule.level in levels for rule in self._recipe.invariant):
            return {}
        found: dict[str, RuleViolation] = {}
        for rung in sorted({file.rung for file in files}):
            run = StepRun(self._recipe.step[rung], rung, start, 1)
            if run.step.kind in {"command", "rewrite"} and run.step.per == "file":
                of_rung = []
                for file in files:
                    if file.rung == rung:
                        of_rung.append(file)
                found |= dict.fromkeys(await find_non_idempotent_files(self._context, run, of_rung), _REPEATS)
        return found

    async def _contents(self, files: Sequence[FileRecord]) -> Mapping[str, bytes]:
        blobs = await read_blobs(self._context.repository.git, [file.blob for file in files if file.blob])
        return {file.path: blobs[file.blob] for file in files if file.blob}


def _restored(file: FileRecord, broken: RuleViolation) -> FileMoved:
    return FileMoved(
        path=file.path,
        status=FileStatus.RESTORED,
        rung=file.rung,
        tried=file.blob,
        reason=broken.reason,
        signature=broken.signature,
    )
