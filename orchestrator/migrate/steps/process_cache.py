"""What one process knows of steps: results of earlier runs, versions of tools, which steps need a sandbox a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from anyio import Lock, to_thread

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.notices import NoticeCode, is_notice_of
from orchestrator.domain.event.run import Noticed
from orchestrator.engine.context import RunContext
from orchestrator.hands.execution.log_reader import read_log_ends
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.journal.journal import Journal
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.sites.ast_grep import locate_ast_grep
from orchestrator.migrate.steps.batch_size import BatchSizer
from orchestrator.migrate.steps.result_cache import StepCache, parse_program
from orchestrator.migrate.steps.rewrites import is_in_process
from orchestrator.migrate.steps.step_workspace import StepWorkspace
from orchestrator.ports.hands import ShellCommand

_SHOWN = 8
_VERSION_S = 10.0


@dataclass
class ProcessCache:
    """What is known while one process works on one run. `earlier` are runs of the repository that lie elsewhere."""

    earlier_runs: Sequence[RunDirectory] = ()
    cache: StepCache | None = None
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    async def load_results(self, context: RunContext) -> StepCache:
        """Results by key, from all runs of the repository, this one included."""
        async with self._turn:
            if self.cache is None:
                runs = [*self.earlier_runs, *StateDirectory(context.directory.path.parent.parent).list_runs()]
                self.cache = await to_thread.run_sync(StepCache.from_runs, runs)
            return self.cache

    def record_results(self, events: Sequence[FileMoved]) -> None:
        """Remember what was just recorded."""
        if self.cache is not None:
            self.cache.record_results(events)

    async def ask_version(self, bench: StepWorkspace) -> str:
        """What the step's program says of its version, asked once; whatever it says is as good as another answer."""
        program = _program(bench.run.step)
        if not program:
            return ""
        known = (program, bench.context.hands.environment_hash)
        if known not in self.versions:
            self.versions[known] = await _asked(bench, program)
        return self.versions[known]

    def find_known_version(self, context: RunContext, step: Step) -> str | None:
        """The version, if nobody has to be asked for it."""
        program = _program(step)
        if program:
            return self.versions.get((program, context.hands.environment_hash))
        return ""


_KNOWN: WeakKeyDictionary[Journal, ProcessCache] = WeakKeyDictionary()


def get_process_cache(context: RunContext) -> ProcessCache:
    """What this process knows, for as long as it has the run's journal open."""
    return _KNOWN.setdefault(context.journal, ProcessCache())


def _program(step: Step) -> str:
    if is_in_process(step):
        return ""
    if step.kind == "command":
        return parse_program(step.run)
    return str(locate_ast_grep())


async def _asked(bench: StepWorkspace, program: str) -> str:
    result = await run_command(bench.workspace, ShellCommand(line=f"{program} --version", timeout_s=_VERSION_S))
    said = await to_thread.run_sync(read_log_ends, result.log)
    await bench.restore_start()
    return f"{result.ending} {result.exit_code}\n{said}"


def can_batch(context: RunContext, step: Step) -> bool:
    """Whether several files may share a sandbox: not without walls, nor for a step that was seen to reach further."""
    if context.state.is_unsafe:
        return False
    for notice in context.state.notices:
        for code in (NoticeCode.STEP_SIDE_EFFECTS, NoticeCode.STEP_NOT_BATCHED):
            if is_notice_of(notice, code, step.id):
                return False
    return True


async def record_side_effects(context: RunContext, step: Step, batches: BatchSizer) -> None:
    """Name what a step changed beside the files it was given, of which nothing is kept; or why it is slow without."""
    if batches.strays:
        first, more = sorted(batches.strays)[:_SHOWN], len(batches.strays) - _SHOWN
        shown = ", ".join(first) + (f" and {more} more" if more > 0 else "")
        text = f"step {step.id} also changed {shown}; that was left out"
        code, paths = NoticeCode.STEP_SIDE_EFFECTS, tuple(first)
        await context.journal.append(Noticed(level="warning", code=code, subject=step.id, paths=paths, text=text))
    elif not batches.is_allowed and can_batch(context, step):
        why = "files that share one left something behind, or something was missing in it (timeout, find, base64)"
        text = f"step {step.id} has a sandbox for each file: {why}"
        code = NoticeCode.STEP_NOT_BATCHED
        await context.journal.append(Noticed(level="info", code=code, subject=step.id, text=text))
