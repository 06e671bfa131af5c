"""Running a step of the ladder over files, several at a time, and booking what became of each."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import anyio

from orchestrator.domain.event.migration import StepFinished, StepStarted
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.stopping import require_going
from orchestrator.migrate.bench import Bench, StepRun
from orchestrator.ports.effect import effect


async def run_step(
    context: RunContext, run: StepRun, files: Sequence[FileRecord], keep: Callable[[], Awaitable[None]]
) -> None:
    """Run the step over these files; afterwards the journal has each file's new status.

    Args:
        context: the run.
        run: the step.
        files: none if an earlier process died when it had tried them all.
        keep: called when all files have been tried, before the step is booked as done.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had, or the step's command does not exist.
    """
    key = context.journal.next_key(f"step/{run.step.id}")
    begun = anyio.current_time()
    started = StepStarted(key=key, step=run.step.id, rung=run.rung, files=len(files))
    async with effect(context.journal, started) as happening:
        if run.step.per == "shard" and files:
            await _on_bench(context, run, files)
        else:
            await _one_by_one(context, run, files)
        require_going(context)
        await keep()
        happening.done = _finished(context, run, files, key, round(anyio.current_time() - begun, 3))


def _finished(context: RunContext, run: StepRun, files: Sequence[FileRecord], key: str, seconds: float) -> StepFinished:
    after = [context.state.files[file.path] for file in files]
    restored = sum(file.status == FileStatus.RESTORED for file in after)
    pairs = zip(files, after, strict=True)
    changed = sum(now.status == FileStatus.TRANSFORMED and now.blob != was.blob for was, now in pairs)
    unchanged = len(files) - changed - restored
    return StepFinished(
        key=key, step=run.step.id, changed=changed, unchanged=unchanged, restored=restored, seconds=seconds
    )


async def _one_by_one(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> None:
    waiting = deque(files)

    async def work() -> None:
        async with Bench.at(context, run) as bench:
            while waiting and not context.state.is_draining and context.state.held is None:
                await context.journal.append(*await bench.transform([waiting.popleft()]))

    while waiting:  # more than once if a pause was taken back before the last of them had come to rest
        async with anyio.create_task_group() as tasks:
            for _ in range(min(run.slots, len(waiting))):
                tasks.start_soon(work)
        require_going(context)


async def _on_bench(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> None:
    async with Bench.at(context, run) as bench:
        await context.journal.append(*await bench.transform(files))
