"""Having a command or a rewrite work on files, whatever that takes."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.event.migration import FileMoved
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem
from orchestrator.migrate.steps.batch_script import FileCommand
from orchestrator.migrate.steps.file_outcomes import OutcomeBuilder, StepInput, StepResult
from orchestrator.migrate.steps.rewrites import apply_regex_rewrite, build_step_command, is_in_process
from orchestrator.migrate.steps.step_workspace import StepRun, StepWorkspace
from worktrees.git import Git
from worktrees.object_store.clean_smudge import read_filtered_blobs

_MOST_BYTES = 120_000
"""Of a command line: the kernel takes 131,072 as one argument."""


@dataclass(frozen=True)
class StepExecutor:
    """Makes something of files; `bench` is None only for a step that needs no sandbox."""

    context: RunContext
    run: StepRun
    step_workspace: StepWorkspace | None

    async def execute_step(self, files: Sequence[StepInput]) -> list[FileMoved]:
        """What becomes of files: of each by itself, or of all at once if the step is per shard.

        Raises:
            EnvironmentProblem: the step's command could not be run at all, which says nothing about the files.
        """
        return await OutcomeBuilder(self.context, self.run, self._git, self.step_workspace).build_moves(
            await self.compute_results(files)
        )

    async def compute_results(self, files: Sequence[StepInput]) -> list[StepResult]:
        """What the step makes of files; nothing is booked."""
        if is_in_process(self.run.step):
            return await apply_regex_rewrite(self._git, self.run.step, files)
        assert self.step_workspace
        step, bench = self.run.step, self.step_workspace
        originals = []
        for one in files:
            originals.append(await bench.read_original(one.path))
        others = {}
        for one in files:
            if one.blob != one.file.branch_blob:
                others[one.path] = one.blob
        contents = await read_filtered_blobs(self._git, others)
        lines = []
        for one in files:
            lines.append(FileCommand(one.path, build_step_command(step, [one.path]), contents.get(one.path)))
        if step.kind == "command" and step.per == "shard":
            ran = await bench.run_together(self._line_of_shard([one.path for one in files]), lines, step.timeout_s)
        else:
            ran = await bench.run_each(lines, step.timeout_s)
        return [
            StepResult(of, original, contents.get(of.path, original), one)
            for of, original, one in zip(files, originals, ran, strict=True)
        ]

    def _line_of_shard(self, paths: Sequence[str]) -> str:
        line = build_step_command(self.run.step, paths)
        if len(line.encode("utf-8", "surrogateescape")) > _MOST_BYTES:
            raise EnvironmentProblem(
                f"step {self.run.step.id} gets {len(paths)} files at once, which do not fit on one command line: "
                'give it a smaller max_files under [shard], or per = "file"'
            )
        return line

    @property
    def _git(self) -> Git:
        """Git that stores and reads contents as the step sees them: as checked out, or for a regex as they are."""
        git = self.context.repository.git
        is_checked_out = self.step_workspace is not None and not is_in_process(self.run.step)
        if is_checked_out and self.step_workspace:
            return git.with_paths(work_tree=self.step_workspace.workspace.root)
        return git
