"""Whether a step leaves its own results alone: it is run on them once more."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.migrate.steps.batch import Batches
from orchestrator.migrate.steps.bench import Bench, StepRun
from orchestrator.migrate.steps.knowledge import may_batch, notice_reach
from orchestrator.migrate.steps.making import Maker
from orchestrator.migrate.steps.outcome import Given
from worktrees.trees import list_tree

SIGNATURE = "not idempotent"
_AT_ONCE = 32


async def checked(maker: Maker, files: Sequence[Given], events: Sequence[FileMoved]) -> list[FileMoved]:
    """The events, with those files restored that a second run of the step changes again.

    Args:
        maker: of the step.
        files: what the step was given.
        events: what became of each, in the same order.
    """
    changed = [
        replace(one, blob=event.blob or one.blob)
        for one, event in zip(files, events, strict=True)
        if event.status == FileStatus.TRANSFORMED and event.blob != one.file.blob
    ]
    again = await changed_again(maker, changed) if changed else frozenset()
    return [_restored(maker.run, event) if event.path in again else event for event in events]


def _restored(run: StepRun, event: FileMoved) -> FileMoved:
    reason = f"step {run.step.id} is not idempotent: it changes its own result once more"
    failed = {"status": FileStatus.RESTORED, "blob": None, "tried": event.blob}
    return event.model_copy(update=failed | {"reason": reason, "signature": SIGNATURE})


async def changed_again(maker: Maker, files: Sequence[Given]) -> frozenset[str]:
    """The paths whose content, as given, the step changes."""
    made = await maker.made(files)
    return frozenset(one.of.path for one in made if one.ran.content != one.given)


async def repeating(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> frozenset[str]:
    """The paths of those files whose content of now (`file.blob`, or else the base's) a command or rewrite changes.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had.
    """
    given = [Given(file, file.blob or file.base) for file in files]
    tracked = frozenset(entry.path for entry in await list_tree(context.repository.git, run.start))
    found: frozenset[str] = frozenset()
    batches = Batches(1, may_batch(context, run.step))
    async with Bench.at(context, run, batches, tracked) as bench:
        maker = Maker(context, run, bench)
        for begin in range(0, len(given), _AT_ONCE):
            found |= await changed_again(maker, given[begin : begin + _AT_ONCE])
    await notice_reach(context, run.step, batches)
    return found
