"""Whether a step leaves its own results alone: it is run on them once more."""

from collections.abc import Sequence
from dataclasses import replace

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.migrate.steps.batch_size import BatchSizer
from orchestrator.migrate.steps.file_outcomes import StepInput
from orchestrator.migrate.steps.process_cache import can_batch, record_side_effects
from orchestrator.migrate.steps.step_executor import StepExecutor
from orchestrator.migrate.steps.step_workspace import StepRun, StepWorkspace
from worktrees.object_store.trees import list_tree

NOT_IDEMPOTENT = "not idempotent"
_AT_ONCE = 32


async def restore_non_idempotent(
    maker: StepExecutor, files: Sequence[StepInput], events: Sequence[FileMoved]
) -> list[FileMoved]:
    """The events, with those files restored that a second run of the step changes again.

    Args:
        maker: of the step.
        files: what the step was given.
        events: what became of each, in the same order.
    """
    changed = []
    for one, event in zip(files, events, strict=True):
        if event.status == FileStatus.TRANSFORMED and event.blob != one.file.blob:
            changed.append(replace(one, blob=event.blob or one.blob))
    if changed:
        again = await find_changed_again(maker, changed)
    else:
        again = frozenset()
    return [_restored(maker.run, event) if event.path in again else event for event in events]


def _restored(run: StepRun, event: FileMoved) -> FileMoved:
    reason = f"step {run.step.id} is not idempotent: it changes its own result once more"
    failed = {"status": FileStatus.RESTORED, "blob": None, "tried": event.blob}
    return event.model_copy(update=failed | {"reason": reason, "signature": NOT_IDEMPOTENT})


async def find_changed_again(maker: StepExecutor, files: Sequence[StepInput]) -> frozenset[str]:
    """The paths whose content, as given, the step changes."""
    made = await maker.compute_results(files)
    return frozenset(one.step_input.path for one in made if one.output.content != one.input_content)


async def find_non_idempotent_files(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> frozenset[str]:
    """The paths of those files whose content of now (`file.blob`, or else the base's) a command or rewrite changes.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had.
    """
    given = []
    for file in files:
        given.append(StepInput(file, file.blob or file.base))
    tracked = frozenset(entry.path for entry in await list_tree(context.repository.git, run.start))
    found: frozenset[str] = frozenset()
    batches = BatchSizer(1, can_batch(context, run.step))
    async with StepWorkspace.open_for_step(context, run, batches, tracked) as bench:
        maker = StepExecutor(context, run, bench)
        for begin in range(0, len(given), _AT_ONCE):
            found |= await find_changed_again(maker, given[begin : begin + _AT_ONCE])
    await record_side_effects(context, run.step, batches)
    return found
