"""Having a command or a rewrite work on files, whatever that takes."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.domain.event.migration import FileMoved
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem
from orchestrator.migrate.steps.bench import Bench, StepRun
from orchestrator.migrate.steps.driver import Line
from orchestrator.migrate.steps.outcome import Given, Judge, Made
from orchestrator.migrate.steps.rewriting import is_in_process, line_of, rewritten
from worktrees.filtered import read_checked_out
from worktrees.git import Git

_MOST_BYTES = 120_000
"""Of a command line: the kernel takes 131,072 as one argument."""


@dataclass(frozen=True)
class Maker:
    """Makes something of files; `bench` is None only for a step that needs no sandbox."""

    context: RunContext
    run: StepRun
    bench: Bench | None

    async def moved(self, files: Sequence[Given]) -> list[FileMoved]:
        """What becomes of files: of each by itself, or of all at once if the step is per shard.

        Raises:
            EnvironmentProblem: the step's command could not be run at all, which says nothing about the files.
        """
        return await Judge(self.context, self.run, self._git, self.bench).moved(await self.made(files))

    async def made(self, files: Sequence[Given]) -> list[Made]:
        """What the step makes of files; nothing is booked."""
        if is_in_process(self.run.step):
            return await rewritten(self._git, self.run.step, files)
        assert self.bench
        step, bench = self.run.step, self.bench
        originals = [await bench.standing(one.path) for one in files]
        others = {one.path: one.blob for one in files if one.blob != one.file.stands}
        contents = await read_checked_out(self._git, others)
        lines = [Line(one.path, line_of(step, [one.path]), contents.get(one.path)) for one in files]
        if step.kind == "command" and step.per == "shard":
            ran = await bench.together(self._line_of_shard([one.path for one in files]), lines, step.timeout_s)
        else:
            ran = await bench.each(lines, step.timeout_s)
        return [
            Made(of, original, contents.get(of.path, original), one)
            for of, original, one in zip(files, originals, ran, strict=True)
        ]

    def _line_of_shard(self, paths: Sequence[str]) -> str:
        line = line_of(self.run.step, paths)
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
        is_checked_out = self.bench is not None and not is_in_process(self.run.step)
        return git.at(work_tree=self.bench.workspace.root) if is_checked_out and self.bench else git
