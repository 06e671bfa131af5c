"""Running a step of the ladder over files, several at a time, and booking what became of each."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import MappingProxyType

import anyio

from orchestrator.domain.event.migration import StepFinished, StepStarted
from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.engine.context import RunContext
from orchestrator.engine.stopping import require_going
from orchestrator.migrate.recipe.step import StepKind
from orchestrator.migrate.steps.batch import Batches
from orchestrator.migrate.steps.bench import Bench, StepRun
from orchestrator.migrate.steps.cache import Keys, rests_on
from orchestrator.migrate.steps.idempotence import checked
from orchestrator.migrate.steps.knowledge import knowledge, may_batch, notice_reach
from orchestrator.migrate.steps.making import Maker
from orchestrator.migrate.steps.outcome import Given, uses_node
from orchestrator.migrate.steps.rewriting import is_in_process, start_of
from orchestrator.ports.effect import effect
from worktrees.trees import list_tree

_APPENDED = 500
_WORKSPACES = 2
"""For each command that may run at a time: what one has done is taken in while that of another runs."""
Runner = Callable[[RunContext, StepRun, Sequence[FileRecord]], Awaitable[None]]
"""Carries out a step of some kind over files and books each with a `FileMoved`, which may leave out some on a pause."""


async def run_step(
    context: RunContext,
    run: StepRun,
    files: Sequence[FileRecord],
    keep: Callable[[], Awaitable[None]],
    runners: Mapping[StepKind, Runner] = MappingProxyType({}),
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
    key = context.journal.next_key(f"step/{run.step.id}")
    begun = anyio.current_time()
    started = StepStarted(key=key, step=run.step.id, rung=run.rung, files=len(files))
    runner = ({"command": transform, "rewrite": transform} | dict(runners))[run.step.kind]
    async with effect(context.journal, started) as happening:
        if files:
            await runner(context, run, files)
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


async def transform(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> None:
    """Carry out a command or a rewrite: what is known from the cache, then the rest on several workspaces at once."""
    tree = {entry.path: entry.oid for entry in await list_tree(context.repository.git, run.start)}
    work = _Work(context, run, frozenset(tree), Batches(_WORKSPACES * run.slots, may_batch(context, run.step)))
    keys = Keys(run.step, await work.version(), context.hands.environment, rests_on(run.step, tree))
    groups = _groups(context, run, files)
    await work.do(await work.recall([_named(keys, run, group) for group in groups]))


def _groups(context: RunContext, run: StepRun, files: Sequence[FileRecord]) -> list[list[FileRecord]]:
    """The files that the step gets at once: one, or those of a shard."""
    if run.step.kind == "rewrite" or run.step.per == "file":
        return [[file] for file in files]
    shards = {path: shard.name for shard in context.state.shards.values() for path in shard.files}
    groups: dict[str, list[FileRecord]] = {}
    for file in files:
        groups.setdefault(shards.get(file.path, ""), []).append(file)
    return list(groups.values())


def _named(keys: Keys, run: StepRun, group: Sequence[FileRecord]) -> list[Given]:
    starts = [(file.path, start_of(run.step, file)) for file in group]
    is_alone = run.step.kind == "rewrite" or run.step.per == "file"
    names = [keys.alone(*starts[0])] if is_alone else keys.together(starts)
    return [Given(file, blob, key) for file, (_, blob), key in zip(group, starts, names, strict=True)]


@dataclass
class _Work:
    """A step's work on files; workers take it from `_waiting` until nothing is left or the run drains."""

    context: RunContext
    run: StepRun
    tracked: frozenset[str]
    batches: Batches
    _waiting: deque[list[Given]] = field(default_factory=deque)
    _is_first: bool = True

    async def version(self) -> str:
        """What the step's program says of its version."""
        known = knowledge(self.context)
        version = known.knows_version(self.context, self.run.step)
        if version is None:
            async with Bench.at(self.context, self.run, self.batches, self.tracked) as bench:
                version = await known.version(bench)
        return version

    async def recall(self, groups: Sequence[list[Given]]) -> list[list[Given]]:
        """Book the results that are known already; gives the groups whose results are not."""
        if not self.context.config.migrate.cache:
            return list(groups)
        cache = await knowledge(self.context).results(self.context)
        found = await cache.find(self.context.repository.git, [one.key for group in groups for one in group])
        known = [group for group in groups if all(one.key in found for one in group)]
        events = [found[one.key].moved(one, self.run.rung) for group in known for one in group]
        for start in range(0, len(events), _APPENDED):
            await self.context.journal.append(*events[start : start + _APPENDED])
        return [group for group in groups if any(one.key not in found for one in group)]

    async def do(self, groups: Sequence[list[Given]]) -> None:
        """Carry out what is left."""
        self._waiting.extend(groups)
        while self._waiting:  # more than once if a pause was taken back before the last of them had come to rest
            async with anyio.create_task_group() as tasks:
                for _ in range(min(_WORKSPACES * self.run.slots, len(self._waiting))):
                    tasks.start_soon(self._worker)
            await notice_reach(self.context, self.run.step, self.batches)
            require_going(self.context)

    async def _worker(self) -> None:
        state = self.context.state
        async with AsyncExitStack() as stack:
            maker = await self._maker(stack)
            while self._waiting and not state.is_draining and state.held is None:
                await self._book(maker, self._take())

    async def _maker(self, stack: AsyncExitStack) -> Maker:
        bench, paths = None, [one.path for group in self._waiting for one in group]
        if not is_in_process(self.run.step) or uses_node(self.run.step, paths):
            bench = await stack.enter_async_context(Bench.at(self.context, self.run, self.batches, self.tracked))
        return Maker(self.context, self.run, bench)

    def _take(self) -> list[Given]:
        if self.run.step.kind == "command" and self.run.step.per == "shard":
            return self._waiting.popleft()
        size = self.batches.size(len(self._waiting))
        return [self._waiting.popleft()[0] for _ in range(min(size, len(self._waiting)))]

    async def _book(self, maker: Maker, files: Sequence[Given]) -> None:
        is_first, self._is_first = self._is_first, False
        events = await maker.moved(files)
        self.batches.learn(sum(event.seconds for event in events), len(events))
        if self.run.step.idempotent and (is_first or self._is_sample()):
            events = await checked(maker, files, events)
        await self.context.journal.append(*events)
        knowledge(self.context).take_in(events)

    def _is_sample(self) -> bool:
        waves = self.context.state.waves
        return bool(waves) and waves[-1].kind == "sample"
