"""Opening what agents look around in: the codebase of a run, with its cache beside the repository's state."""

from pathlib import Path

from orchestrator.config.model import Config
from orchestrator.domain.ids import CommitId
from orchestrator.ports.codebase import Codebase
from worktrees.git import Git


def open_codebase(git: Git, base: CommitId, state: Path, config: Config, *, is_unsafe: bool = False) -> Codebase:
    """Return the codebase of a run that begins at `base`.

    Where commands run without a sandbox (`is_unsafe`) nothing is cached, as they could write the cache themselves.
    """
    from orchestrator.codemap.git_codebase import GitCodebase  # imported here as no other verb needs it
    from orchestrator.codemap.map_cache import MapCache

    mebibytes = 0 if is_unsafe or config.hands.without_sandbox else config.map.mb
    return GitCodebase(git, base, MapCache.open_for(state, mebibytes))
