"""Which forge a run opens its pull requests on, made sure of before the work and opened with the run."""

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from orchestrator.config.model import Config
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.forge.github.endpoint import RepositoryEndpoint
from orchestrator.forge.local import LocalForge
from orchestrator.ports.forge import Forge
from worktrees.errors import GitError, UnknownRemote
from worktrees.ref_store.remote_refs import get_push_url
from worktrees.repositories.repository import GitRepository

_HOST = r"(?:[^/@\s]+@)?[^/\s:]+"
_OWNER_NAME = re.compile(
    rf"(?:[a-z+]+://{_HOST}(?::\d+)?/|{_HOST}:)/*([\w-]+/[\w.-]+?)(?:\.git)?/*", re.ASCII | re.IGNORECASE
)
"""A repository in both ways to write its URL, `https://HOST/owner/name.git` and `git@HOST:owner/name.git`."""


async def require_forge(repository: GitRepository, config: Config, environ: Mapping[str, str] = os.environ) -> None:
    """Make sure before hours of work, not after them, that what lands can be pushed and a pull request be opened.

    Nothing is asked of the forge itself.

    Raises:
        UsageProblem: there is no remote of the name under [pr] push, or none is named and the forge needs one; or
            nothing says which repository it is there.
        EnvironmentProblem: there is no token.
    """
    url = await _push_url(repository, config)
    if config.pr.forge == "github":
        _place(config, url, environ)


async def find_github_repository(
    repository: GitRepository, config: Config, environ: Mapping[str, str] = os.environ
) -> RepositoryEndpoint:
    """The repository on GitHub, and the token for it.

    Raises:
        UsageProblem, EnvironmentProblem: as `require_forge`.
    """
    return _place(config, await _push_url(repository, config), environ)


@asynccontextmanager
async def open_forge(
    repository: GitRepository, pages: Path, config: Config, state: RunState, tell: Callable[[str], Awaitable[None]]
) -> AsyncIterator[Forge]:
    """The forge of a run while the block lasts. `pages` is where the local one writes; `tell` hears of long waits."""
    if config.pr.forge == "local":
        yield LocalForge(repository.git, pages, state.run.started_at.isoformat(timespec="seconds"))
        return
    from orchestrator.forge.github.api import open_github_api
    from orchestrator.forge.github.forge import GitHubForge  # only runs that use it pay for an HTTP client

    async with open_github_api(await find_github_repository(repository, config), tell) as api:
        yield GitHubForge(api, state.run.run)


async def _push_url(repository: GitRepository, config: Config) -> str:
    name = config.pr.push
    try:
        if name:
            return await get_push_url(repository.git, name)
        return ""
    except UnknownRemote as error:
        raise UsageProblem(f"{error} to push to: add it (git remote add {name} URL), or set push under [pr]") from error
    except GitError as error:
        raise UsageProblem(str(error)) from error


def _place(config: Config, url: str, environ: Mapping[str, str]) -> RepositoryEndpoint:
    pr = config.pr
    if not pr.push:
        raise UsageProblem(
            "pull requests on GitHub need a branch there: set push under [pr] to the remote that is on GitHub, such as "
            '"origin", or forge to "local"'
        )
    named = _OWNER_NAME.fullmatch(url)
    repository = pr.repository or (named[1] if named else "")
    if not repository:
        raise UsageProblem(
            f"the URL of {pr.push} does not say which repository it is on GitHub: set repository under [pr] to "
            "owner/name"
        )
    token = environ.get(pr.token_env, "").strip()
    if not token:
        raise EnvironmentProblem(
            f"there is no token for GitHub in {pr.token_env}: put one there that may write contents and pull requests "
            f"of {repository}, or name another variable with token_env under [pr]; docs/pull-requests.md"
        )
    return RepositoryEndpoint(pr.url, repository, token, pr.token_env)
