"""The beginning of a run: its base, its branch, and what a person should know at once."""

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from orchestrator import __version__
from orchestrator.config.layers import PROJECT_FILE
from orchestrator.config.model import Config
from orchestrator.domain.event import Event
from orchestrator.domain.event.run import EngineStarted, Noticed, RunStarted
from orchestrator.domain.ids import CommitId, RunId, TreeId, get_run_suffix, make_slug
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.base_requirements import require_all_objects, require_free_name
from worktrees.object_store.completeness import has_lfs_files
from worktrees.object_store.trees import read_tree_id
from worktrees.repositories.repository import GitRepository

_SHOWN = 5


@dataclass(frozen=True)
class NewRun:
    """The wishes for a run. `events` are recorded with its first event, all or none.

    `base` is the commit to start from (default: the one that is checked out), `target` the branch that it came from.
    `name` is what a person calls it.
    """

    mode: Literal["goal", "migration"]
    goal: str
    branch_prefix: str
    recipe: dict[str, Any] | None = None
    events: Sequence[Event] = ()
    base: CommitId | None = None
    target: str = ""
    name: str = ""


async def build_first_events(
    new: NewRun, run: RunId, repository: GitRepository, config: Config, now: datetime
) -> Sequence[Event]:
    """Return the events that make a run.

    Raises:
        UsageProblem: its PR branch cannot exist beside a branch that does, or the clone lacks files of the base.
    """
    base = new.base or CommitId(repository.read_head_commit())
    await require_all_objects(repository, base)
    branch = _build_branch_name(new, run)
    await require_free_name(repository, branch)
    started = RunStarted(
        run=run,
        mode=new.mode,
        goal=new.goal,
        started_at=now,
        repository=str(repository.root),
        base=base,
        base_tree=TreeId(await read_tree_id(repository.git, base)),
        branch=branch,
        target=config.pr.target or new.target or repository.read_branch() or "",
        settings=config.model_dump(mode="json", by_alias=True),
        recipe=new.recipe,
        names_agents=True,
        name=new.name,
    )
    return started, *await _build_notices(repository, base), *new.events


def build_engine_started(epoch: int) -> EngineStarted:
    """Return the event with which this process takes the run."""
    return EngineStarted(epoch=epoch, pid=os.getpid(), host=socket.gethostname(), version=__version__)


def _build_branch_name(new: NewRun, run: RunId) -> str:
    if new.mode == "migration":
        return f"{new.branch_prefix}{run}"
    return f"{new.branch_prefix}{make_slug(new.goal)}-{get_run_suffix(run)}"


async def _build_notices(repository: GitRepository, base: CommitId) -> Sequence[Noticed]:
    texts = []
    dirty = list(repository.list_dirty_paths())
    if PROJECT_FILE in dirty:
        dirty.remove(PROJECT_FILE)
        texts.append(
            f"{PROJECT_FILE} is used as it stands in your checkout, although that is not committed: commit it, so that "
            "others and CI get the same"
        )
    if dirty:
        texts.append(
            f"your checkout has changes that are not committed ({join_limited(dirty, _SHOWN)}); the run starts from "
            f"commit {base[:12]} and leaves them out and alone"
        )
    if await has_lfs_files(repository.git, base):
        texts.append(
            "files that git LFS holds are only pointers in workspaces, for nothing is downloaded while a run goes on: "
            "leave tests that read their content out of the gate"
        )
    return [Noticed(level="warning", text=text) for text in texts]
