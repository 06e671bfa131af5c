"""Warn a person, before anything is spent, that an earlier run has landed files that this one would do again."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from anyio import to_thread

from orchestrator.domain.event import Event
from orchestrator.domain.event.migration import FileMoved, FilesFound, FoundFile
from orchestrator.domain.event.run import Noticed, RunStarted
from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import join_limited
from orchestrator.errors import OrchestrateError
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.state.derivation import derive_whole_state
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.project.options import ProjectContext
from worktrees.ref_store.refs import list_refs

_RUNS = 50
_URLS = 3


async def find_previous_run_notice(
    project: ProjectContext, recipe: Recipe, base: CommitId, events: Sequence[Event]
) -> tuple[Noticed, ...]:
    """Return a notice of the newest earlier run whose branch has files that are to be done again, if there is one.

    Such a file stands at the base as that run found it. A run whose branch is gone, or that was not to publish what it
    landed, is passed over.

    Args:
        project: the repository and where its runs lie.
        recipe: what is to be carried out.
        base: the commit to start from.
        events: what such a run begins with.
    """
    pending = set(_list_pending_files(events))
    branches = await list_refs(project.repository.git, "refs/heads/")
    for run in reversed(project.state.list_runs()[-_RUNS:]):
        state = await to_thread.run_sync(_read_open_run, run, recipe.migration.id)
        if state is None or f"refs/heads/{state.run.branch}" not in branches:
            continue
        repeated = sum((file.path, file.base) in pending for file in state.migration.files.values() if file.landed)
        if repeated:
            text, code = _describe_run(state, base, repeated), NoticeCode.EARLIER_RUN
            return (Noticed(level="warning", text=text, code=code, subject=state.run.run),)
    return ()


def _list_pending_files(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Yield path and blob of the files that are to be done."""
    skipped: set[str] = set()
    files: list[FoundFile] = []
    for event in events:
        if isinstance(event, FileMoved):
            skipped.add(event.path)
        elif isinstance(event, FilesFound):
            files += event.files
    for file in files:
        if file.path not in skipped:
            yield file.path, file.blob


def _read_open_run(run: RunDirectory, migration: str) -> RunState | None:
    """Return the state of a run of this migration that is under way or has published; None for any other. Blocks."""
    with suppress(OrchestrateError), EventReader.open_reader(run.journal) as reader:
        first = next(iter(reader.read_events(until=1)), None)
        if first is None or not isinstance(first.event, RunStarted) or _get_migration_id(first.event) != migration:
            return None
        state = derive_whole_state(reader).state
        if state.ended is None or state.pr is not None or state.migration.prs:
            return state
        return None
    return None


def _get_migration_id(started: RunStarted) -> str:
    return str((started.recipe or {}).get("migration", {}).get("id", ""))


def _describe_run(state: RunState, base: CommitId, repeated: int) -> str:
    run, opened = state.run, [*state.migration.prs.values()]
    if state.pr is not None and not opened:
        opened = [state.pr]
    urls = [pr.url for pr in opened if pr.url]
    shown = f" ({join_limited(urls, _URLS)})" if urls else ""
    if state.ended is None:
        advice = f"go on with that one instead: orchestrate migrate resume {run.run}"
    else:
        advice = "merge that first, or delete the branch if nobody wants it"
    return (
        f"an earlier run of this migration, {run.run}, has landed {repeated} of these files on {run.branch}{shown}, "
        f"and commit {base[:12]} does not have them: a further run does them again and proposes them a second time; "
        f"{advice}"
    )
