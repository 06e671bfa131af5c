"""Opening what agents look around in: the codebase of a run, with its cache beside the repository's state."""

from pathlib import Path

from orchestrator.codemap.git_codebase import GitCodebase
from orchestrator.codemap.map_cache import MapCache
from orchestrator.config.model import Config
from orchestrator.domain.ids import CommitId
from worktrees.git import Git


def open_codebase(git: Git, base: CommitId, state: Path, config: Config, *, is_unsafe: bool = False) -> GitCodebase:
    """Return the codebase of a run that begins at `base`.

    Where commands run without a sandbox (`is_unsafe`) nothing is cached, as they could write the cache themselves.
    """
    mebibytes = 0 if is_unsafe or config.hands.without_sandbox else config.map.mb
    return GitCodebase(git, base, MapCache.open_for(state, mebibytes))
