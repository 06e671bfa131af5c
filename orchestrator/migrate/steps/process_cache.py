"""Facts about steps that one process keeps: results of earlier runs, and the versions of tools."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from anyio import Lock, to_thread

from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.engine.context import RunContext
from orchestrator.journal.journal import Journal
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.migrate.sites.ast_grep import locate_ast_grep
from orchestrator.migrate.steps.result_cache import StepCache, parse_program


@dataclass
class ProcessCache:
    """Facts that hold while one process works on one run. `earlier_runs` are runs of the repository that lie elsewhere.

    `versions` has what a program in an environment (by its hash) says of its version.
    """

    earlier_runs: Sequence[RunDirectory] = ()
    cache: StepCache | None = None
    versions: dict[tuple[str, str], str] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)

    async def load_results(self, context: RunContext) -> StepCache:
        """Return the results by key, from all runs of the repository, this one included."""
        async with self._turn:
            if self.cache is None:
                runs = [*self.earlier_runs, *StateDirectory(context.directory.path.parent.parent).list_runs()]
                self.cache = await to_thread.run_sync(StepCache.from_runs, runs)
            return self.cache

    def record_results(self, events: Sequence[FileMoved]) -> None:
        """Remember what was just recorded."""
        if self.cache is not None:
            self.cache.record_results(events)


_KNOWN: WeakKeyDictionary[Journal, ProcessCache] = WeakKeyDictionary()


def get_process_cache(context: RunContext) -> ProcessCache:
    """Return what this process knows, for as long as it has the run's journal open."""
    return _KNOWN.setdefault(context.journal, ProcessCache())


def find_step_program(step: TransformStep) -> str:
    """Return the program that does the step's work; empty if it is no plain name, or the step needs none."""
    if step.kind == "command":
        return parse_program(step.run)
    if step.runs_in_process:
        return ""
    return str(locate_ast_grep())
