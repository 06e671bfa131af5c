"""Running a step of the ladder over files, several at a time, and booking what became of each."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import MappingProxyType

import anyio

from orchestrator.domain.event.migration import StepFinished, StepStarted
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.step import StepKind
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.migrate.steps.batch_size import BatchSizer
from orchestrator.migrate.steps.file_outcomes import StepInput, needs_node
from orchestrator.migrate.steps.idempotence import restore_non_idempotent
from orchestrator.migrate.steps.process_cache import can_batch, get_process_cache, record_side_effects
from orchestrator.migrate.steps.result_cache import ResultKeys, select_input_files
from orchestrator.migrate.steps.rewrites import choose_step_blob, is_in_process
from orchestrator.migrate.steps.step_executor import StepExecutor
from orchestrator.migrate.steps.step_workspace import StepRun, StepWorkspace
from orchestrator.ports.effect import record_effect
from worktrees.object_store.trees import list_tree

_APPENDED = 500
_WORKSPACES = 2
"""For each command that may run at a time: what one has done is taken in while that of another runs."""
StepKindRunner = Callable[[RunContext, StepRun, Sequence[FileRecord]], Awaitable[None]]
"""Carries out a step of some kind over files and books each with a `FileMoved`, which may leave out some on a pause."""


async def run_step(
    context: RunContext,
    run: StepRun,
    files: Sequence[FileRecord],
    keep: Callable[[], Awaitable[None]],
    runners: Mapping[StepKind, StepKindRunner] = MappingProxyType({}),
) -> None:
    """Run the step over these files; afterwards the journal has each file's new status.

    Args:
        context: the run.
        run: the step.
        files: none if an earlier process died when it had tried them all.
        keep: called when all files have been tried, before the step is booked as done.
        runners: who carries out steps of which kind, beside commands and rewrites.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had, or the step's command does not exist.
        KeyError: nobody carries out steps of this kind.
    """
    key = context.journal.build_next_key(f"step/{run.step.id}")
    begun = anyio.current_time()
    started = StepStarted(key=key, step=run.step.id, rung=run.rung, files=len(files))
    runner = ({"command": transform_files, "rewrite": transform_files} | dict(runners))[run.step.kind]
    async with record_effect(context.journal, started) as happening:
        if files:
            await runner(context, run, files)
        require_not_stopping(context)
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


async def transform_files(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> None:
    """Carry out a command or a rewrite: what is known from the cache, then the rest on several workspaces at once."""
    tree = {}
    for entry in await list_tree(context.repository.git, run.start):
        tree[entry.path] = entry.oid
    work = _Work(context, run, frozenset(tree), BatchSizer(_WORKSPACES * run.slots, can_batch(context, run.step)))
    keys = ResultKeys(
        run.step, await work.find_version(), context.hands.environment_hash, select_input_files(run.step, tree)
    )
    groups = _groups(context, run, files)
    await work.run_groups(await work.record_cached_results([_named(keys, run, group) for group in groups]))


def _groups(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> list[list[FileRecord]]:
    """The files that the step gets at once: one, or those of a shard."""
    if run.step.kind == "rewrite" or run.step.per == "file":
        return [[file] for file in files]
    shards = {}
    for shard in context.state.shards.values():
        for path in shard.files:
            shards[path] = shard.name
    groups: dict[str, list[FileRecord]] = {}
    for file in files:
        groups.setdefault(shards.get(file.path, ""), []).append(file)
    return list(groups.values())


def _named(keys: ResultKeys, run: StepRun, group: Sequence[FileRecord]) -> list[StepInput]:
    starts = []
    for file in group:
        starts.append((file.path, choose_step_blob(run.step, file)))
    is_alone = run.step.kind == "rewrite" or run.step.per == "file"
    if is_alone:
        names = [keys.build_file_key(*starts[0])]
    else:
        names = keys.build_shard_keys(starts)
    return [StepInput(file, blob, key) for file, (_, blob), key in zip(group, starts, names, strict=True)]


@dataclass
class _Work:
    """A step's work on files; workers take it from `_waiting` until nothing is left or the run drains."""

    context: RunContext
    run: StepRun
    tracked: frozenset[str]
    batches: BatchSizer
    _waiting: deque[list[StepInput]] = field(default_factory=deque)
    _is_first: bool = True

    async def find_version(self) -> str:
        """What the step's program says of its version."""
        known = get_process_cache(self.context)
        version = known.find_known_version(self.context, self.run.step)
        if version is None:
            async with StepWorkspace.open_for_step(self.context, self.run, self.batches, self.tracked) as bench:
                version = await known.ask_version(bench)
        return version

    async def record_cached_results(self, groups: Sequence[list[StepInput]]) -> list[list[StepInput]]:
        """Book the results that are known already; gives the groups whose results are not."""
        if not self.context.config.migrate.cache:
            return list(groups)
        cache = await get_process_cache(self.context).load_results(self.context)
        found = await cache.find_results(self.context.repository.git, [one.key for group in groups for one in group])
        known = []
        for group in groups:
            if all(one.key in found for one in group):
                known.append(group)
        events = [found[one.key].build_event(one, self.run.rung) for group in known for one in group]
        for start in range(0, len(events), _APPENDED):
            await self.context.journal.append(*events[start : start + _APPENDED])
        return [group for group in groups if any(one.key not in found for one in group)]

    async def run_groups(self, groups: Sequence[list[StepInput]]) -> None:
        """Carry out what is left."""
        self._waiting.extend(groups)
        while self._waiting:  # more than once if a pause was taken back before the last of them had come to rest
            async with anyio.create_task_group() as tasks:
                for _ in range(min(_WORKSPACES * self.run.slots, len(self._waiting))):
                    tasks.start_soon(self._worker)
            await record_side_effects(self.context, self.run.step, self.batches)
            require_not_stopping(self.context)

    async def _worker(self) -> None:
        state = self.context.state
        async with AsyncExitStack() as stack:
            maker = await self._maker(stack)
            while self._waiting and not state.is_draining and state.user_pause is None:
                await self._book(maker, self._take())

    async def _maker(self, stack: AsyncExitStack) -> StepExecutor:
        bench, paths = None, [one.path for group in self._waiting for one in group]
        if not is_in_process(self.run.step) or needs_node(self.run.step, paths):
            bench = await stack.enter_async_context(
                StepWorkspace.open_for_step(self.context, self.run, self.batches, self.tracked)
            )
        return StepExecutor(self.context, self.run, bench)

    def _take(self) -> list[StepInput]:
        if self.run.step.kind == "command" and self.run.step.per == "shard":
            return self._waiting.popleft()
        size = self.batches.choose_size(len(self._waiting))
        return [self._waiting.popleft()[0] for _ in range(min(size, len(self._waiting)))]

    async def _book(self, maker: StepExecutor, files: Sequence[StepInput]) -> None:
        is_first, self._is_first = self._is_first, False
        events = await maker.execute_step(files)
        self.batches.record_duration(sum(event.seconds for event in events), len(events))
        if self.run.step.idempotent and (is_first or self._is_sample()):
            events = await restore_non_idempotent(maker, files, events)
        await self.context.journal.append(*events)
        get_process_cache(self.context).record_results(events)

    def _is_sample(self) -> bool:
        waves = self.context.state.waves
        return bool(waves) and waves[-1].kind == "sample"
