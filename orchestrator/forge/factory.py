"""The forge that is configured: checked before the work, opened with the run."""

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.config.model import Config
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.local import LocalForge, LocalForgeRepository
from orchestrator.ports.forge import Forge, ForgeRepository
from worktrees.errors import GitError, UnknownRemote
from worktrees.ref_store.remote_refs import get_push_url
from worktrees.repositories.repository import GitRepository

if TYPE_CHECKING:
    from orchestrator.domain.run.state import RunState

_HOST = r"(?:[^/@\s]+@)?[^/\s:]+"
_OWNER_NAME = compile_lazily(
    rf"(?:[a-z+]+://{_HOST}(?::\d+)?/|{_HOST}:)/*([\w-]+/[\w.-]+?)(?:\.git)?/*", re.ASCII | re.IGNORECASE
)
"""A repository in both ways to write its URL, `https://HOST/owner/name.git` and `git@HOST:owner/name.git`."""


async def require_forge(repository: GitRepository, config: Config, environ: Mapping[str, str] = os.environ) -> None:
    """Make sure, before hours of work, that what lands can be pushed and a pull request be opened.

    Nothing is asked of the forge itself.

    Raises:
        UsageProblem: there is no remote of the name under [pr] push, or none is named and the forge needs one; or
            nothing says which repository it is there.
        EnvironmentProblem: there is no token.
    """
    url = await _read_push_url(repository, config)
    if config.pr.forge == "github":
        _build_endpoint(config, url, environ)


@asynccontextmanager
async def open_forge_repository(
    repository: GitRepository, config: Config, *, is_impatient: bool = False
) -> AsyncIterator[ForgeRepository]:
    """Open the repository on the forge that is configured, while the block lasts.

    Args:
        repository: the clone.
        config: says which forge it is.
        is_impatient: whether a forge that does not answer is given up after seconds.

    Raises:
        UsageProblem, EnvironmentProblem: as `require_forge`.
    """
    if config.pr.forge == "local":
        yield LocalForgeRepository()
        return
    from orchestrator.forge.github.api import open_github_api
    from orchestrator.forge.github.forge import GitHubForgeRepository
    from orchestrator.forge.github.retry import IMPATIENT_POLICY

    endpoint = await _find_endpoint(repository, config)
    async with open_github_api(endpoint, patience=IMPATIENT_POLICY if is_impatient else None) as api:
        yield GitHubForgeRepository(api)


@asynccontextmanager
async def open_forge(
    repository: GitRepository, pages: Path, config: Config, state: "RunState", tell: Callable[[str], Awaitable[None]]
) -> AsyncIterator[Forge]:
    """Open the forge of a run while the block lasts; `pages` is where the local one writes, `tell` hears of waits."""
    if config.pr.forge == "local":
        yield LocalForge(repository.git, pages, state.run.started_at.isoformat(timespec="seconds"))
        return
    from orchestrator.forge.github.api import open_github_api
    from orchestrator.forge.github.forge import GitHubForge  # only runs that use it pay for an HTTP client

    async with open_github_api(await _find_endpoint(repository, config), tell) as api:
        yield GitHubForge(api, state.run.run)


async def _find_endpoint(repository: GitRepository, config: Config) -> RepositoryEndpoint:
    return _build_endpoint(config, await _read_push_url(repository, config), os.environ)


async def _read_push_url(repository: GitRepository, config: Config) -> str:
    name = config.pr.push
    if not name:
        return ""
    try:
        return await get_push_url(repository.git, name)
    except UnknownRemote as error:
        raise UsageProblem(f"{error} to push to: add it (git remote add {name} URL), or set push under [pr]") from error
    except GitError as error:
        raise UsageProblem(str(error)) from error


def _build_endpoint(config: Config, url: str, environ: Mapping[str, str]) -> RepositoryEndpoint:
    pr = config.pr
    if not pr.push:
        raise UsageProblem(
            "pull requests on GitHub need a branch there: set push under [pr] to the remote that is on GitHub, such as "
            '"origin", or forge to "local"'
        )
    named = _OWNER_NAME.fullmatch(url)
    repository = pr.repository or (named and named[1])
    if not repository:
        problem = f"the URL of {pr.push} does not say which repository it is on GitHub"
        raise UsageProblem(f"{problem}: set repository under [pr] to owner/name")
    token = environ.get(pr.token_env, "").strip()
    if not token:
        raise EnvironmentProblem(
            f"there is no token for GitHub in {pr.token_env}: put one there that may write contents and pull requests "
            f"of {repository}, or name another variable with token_env under [pr]; docs/pull-requests.md"
        )
    return RepositoryEndpoint(pr.url, repository, token, pr.token_env)
