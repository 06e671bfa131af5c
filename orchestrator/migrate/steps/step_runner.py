"""Running a step of the ladder over files, several at a time, and booking what became of each."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import anyio

from orchestrator.domain.event.migration import FileMoved, StepFinished, StepStarted
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.stop_signals import require_not_stopping
from orchestrator.engine.lost_hosts import LossCounter
from orchestrator.errors import HostLost
from orchestrator.hands.execution.lost_hosts import repeat_on_lost_host
from orchestrator.migrate.steps.batch_script import BatchSizer, can_batch, record_side_effects
from orchestrator.migrate.steps.file_outcomes import is_checked_by_node
from orchestrator.migrate.steps.repeated_passes import repeat_until_settled
from orchestrator.migrate.steps.result_cache import ResultKeys, find_step_program, get_process_cache, select_input_files
from orchestrator.migrate.steps.step_executor import StepExecutor, choose_step_blob, open_step_git
from orchestrator.migrate.steps.step_io import StepInput, StepRun, StepTally
from orchestrator.migrate.steps.step_workspace import StepWorkspace
from orchestrator.ports.effect import record_effect
from worktrees.git import Git
from worktrees.object_store.trees import list_tree

_APPENDED = 500
_WORKSPACES = 2
"""For each command that may run at a time: what one has done is taken in while that of another runs."""


async def run_step(
    context: RunContext, run: StepRun, files: Sequence[FileRecord], keep: Callable[[], Awaitable[None]]
) -> StepTally:
    """Run the step over these files; afterwards the journal has each file's new status.

    Args:
        context: the run.
        run: the step.
        files: none if an earlier process died when it had tried them all.
        keep: called when all files have been tried, before the step is booked as done.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had, or the step's command does not exist.
    """
    key = context.journal.build_next_key(f"step/{run.step.id}")
    begun, cached = anyio.current_time(), 0
    started = StepStarted(key=key, step=run.step.id, rung=run.rung, files=len(files))
    async with record_effect(context.journal, started) as effect:
        if files:
            cached = await _transform_files(context, run, files)
        require_not_stopping(context)
        await keep()
        tally = _count_outcomes(context, files)
        tally.cached, tally.seconds = cached, round(anyio.current_time() - begun, 3)
        effect.done = StepFinished(
            key=key,
            step=run.step.id,
            changed=tally.changed,
            unchanged=tally.unchanged,
            restored=tally.restored,
            seconds=tally.seconds,
        )
    return tally


def _count_outcomes(context: RunContext, files: Sequence[FileRecord]) -> StepTally:
    tally = StepTally(files=len(files))
    for before in files:
        after = context.state.migration.files[before.path]
        if after.status == FileStatus.RESTORED:
            tally.restored += 1
        elif after.status == FileStatus.TRANSFORMED and after.blob != before.blob:
            tally.changed += 1
        else:
            tally.unchanged += 1
    return tally


async def _transform_files(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> int:
    """Carry out a command or a rewrite on several workspaces at once; return how many results came from the cache."""
    entries = await list_tree(context.repository.git, run.start)
    tree = {entry.path: entry.oid for entry in entries}
    async with open_step_git(context, run, entries) as git:
        work = _StepWork(context, run, git, BatchSizer(_WORKSPACES * run.slots, can_batch(context, run.step)))
        version, environment = await work.find_version(), context.hands.environment_hash
        keys = ResultKeys(run.step, version, environment, select_input_files(run.step, tree))
        groups = [_name_results(keys, run, group) for group in _group_files(context, run, files)]
        rest = await work.record_cached_results(groups)
        await work.run_groups(rest)
    return len(files) - sum(map(len, rest))


def _group_files(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> Iterable[Sequence[FileRecord]]:
    """Return the files that the step gets at once: one, those of a shard, or all."""
    if run.step.takes_tree:
        return [files]
    if not run.step.takes_shard:
        return [[file] for file in files]
    shards = context.state.migration.map_files_to_shards()
    groups: dict[str, list[FileRecord]] = {}
    for file in files:
        groups.setdefault(shards.get(file.path, ""), []).append(file)
    return groups.values()


def _name_results(keys: ResultKeys, run: StepRun, group: Sequence[FileRecord]) -> list[StepInput]:
    starts = [(file.path, choose_step_blob(run.step, file)) for file in group]
    names = keys.build_shard_keys(starts) if run.step.takes_together else [keys.build_file_key(*starts[0])]
    return [StepInput(file, blob, name) for file, (_, blob), name in zip(group, starts, names, strict=True)]


@dataclass
class _StepWork:
    """A step's work on files; workers take it from `_waiting` until nothing is left or the run drains."""

    context: RunContext
    run: StepRun
    git: Git
    batches: BatchSizer
    _waiting: deque[list[StepInput]] = field(default_factory=deque)

    async def find_version(self) -> str:
        """Return what the step's program says of its version, asked once; empty if the step has no program."""
        if not (program := find_step_program(self.run.step)):
            return ""
        versions, key = get_process_cache(self.context).versions, (program, self.context.hands.environment_hash)
        if key not in versions:
            versions[key] = await repeat_on_lost_host(partial(self._read_version, program))
        return versions[key]

    async def _read_version(self, program: str) -> str:
        async with self._open_workspace() as workspace:
            return await workspace.read_version(program)

    def _open_workspace(self) -> AbstractAsyncContextManager[StepWorkspace]:
        return StepWorkspace.open_for_step(self.context, self.run, self.batches)

    async def record_cached_results(self, groups: Sequence[list[StepInput]]) -> list[list[StepInput]]:
        """Book the results that are known already; return the groups whose results are not."""
        if not self.context.config.migrate.cache:
            return list(groups)
        cache = await get_process_cache(self.context).load_results(self.context)
        keys = [file.key for group in groups for file in group]
        found = await cache.find_results(self.context.repository.git, keys)
        events: list[FileMoved] = []
        rest = []
        for group in groups:
            if all(file.key in found for file in group):
                events += (found[file.key].build_event(file, self.run.rung) for file in group)
            else:
                rest.append(group)
        for start in range(0, len(events), _APPENDED):
            await self.context.journal.append(*events[start : start + _APPENDED])
        return rest

    async def run_groups(self, groups: Sequence[list[StepInput]]) -> None:
        """Carry out what is left."""
        self._waiting.extend(groups)
        while self._waiting:  # more than once if a pause was taken back before the last of them had come to rest
            async with anyio.create_task_group() as tasks:
                for _ in range(min(_WORKSPACES * self.run.slots, len(self._waiting))):
                    tasks.start_soon(self._run_worker)
            await record_side_effects(self.context, self.run.step, self.batches)
            require_not_stopping(self.context)

    async def _run_worker(self) -> None:
        """Work until nothing waits, in another workspace where the host of one is lost."""
        losses = LossCounter()
        while self._may_go_on():
            begun = anyio.current_time()
            try:
                await self._run_in_workspace()
            except HostLost as lost:
                losses.note_loss(lost, anyio.current_time() - begun)

    def _may_go_on(self) -> bool:
        state = self.context.state
        return bool(self._waiting) and not state.is_draining and state.user_pause is None

    async def _run_in_workspace(self) -> None:
        async with AsyncExitStack() as stack:
            workspace = None
            if self._needs_workspace():
                workspace = await stack.enter_async_context(self._open_workspace())
            executor = StepExecutor(self.context, self.run, self.git, workspace)
            while self._may_go_on():
                groups = self._take_groups()
                try:
                    await self._execute(executor, list(chain.from_iterable(groups)))
                except HostLost:
                    self._waiting.extendleft(reversed(groups))
                    raise

    def _needs_workspace(self) -> bool:
        if not self.run.step.runs_in_process:
            return True
        waiting = (file for group in self._waiting for file in group)
        return self.run.step.must_parse and any(is_checked_by_node(file.path) for file in waiting)

    def _take_groups(self) -> list[list[StepInput]]:
        """Take what is carried out at once: one group that the step gets together, or several of a file each."""
        size = 1 if self.run.step.takes_together else self.batches.choose_size(len(self._waiting))
        groups = []
        for _ in range(min(size, len(self._waiting))):
            groups.append(self._waiting.popleft())
        return groups

    async def _execute(self, executor: StepExecutor, files: Sequence[StepInput]) -> None:
        events = await executor.execute_step(files)
        self.batches.record_duration(sum(event.seconds for event in events), len(events))
        events = await repeat_until_settled(executor, files, events)
        await self.context.journal.append(*events)
        get_process_cache(self.context).record_results(events)
