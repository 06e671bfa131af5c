"""Pushing the PR branch, before its pull request is opened: forward only, and at most once per commit."""

import anyio

from orchestrator.domain.event.external import PushFinished, PushStarted
from orchestrator.domain.ids import CommitId
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem, PersonNeeded
from orchestrator.ports.effect import record_effect
from worktrees.errors import GitError, PushRefused, UnknownRemote
from worktrees.ref_store.remote_refs import push_commit, read_remote_tip

_LONGEST_S = 1800.0


async def push_branch(context: RunContext, head: CommitId, name: str = "") -> None:
    """Have a branch of the configured remote stand at `head`; nothing happens where it does, or none is configured.

    It is the PR branch, unless another one is named.

    Raises:
        PersonNeeded: the remote's branch holds what this run did not make, or the remote does not allow the push.
        EnvironmentProblem: the remote cannot be reached, or wants credentials that are not there.
    """
    remote, branch = context.config.pr.push, name or context.state.run.branch
    if not remote or await _read_tip(context, remote, branch) == head:
        return
    key = context.journal.build_next_key(f"push/{remote}/{branch}/{head}")
    started = PushStarted(key=key, remote=remote, branch=branch, commit=head)
    async with record_effect(context.journal, started) as pushing:
        await _push(context, remote, head, branch)
        pushing.done = PushFinished(key=key, remote=remote, branch=branch, commit=head)


async def has_push_arrived(context: RunContext, push: PushStarted) -> bool:
    """Return True if a push that nobody saw the end of has happened; no, where the remote cannot be asked."""
    try:
        return await _read_tip(context, push.remote, push.branch) == push.commit
    except (PersonNeeded, EnvironmentProblem):
        return False


async def _read_tip(context: RunContext, remote: str, branch: str) -> str | None:
    try:
        with anyio.fail_after(_LONGEST_S):
            return await read_remote_tip(context.repository.git, remote, branch)
    except (GitError, TimeoutError) as error:
        raise _build_problem(remote, error) from error


async def _push(context: RunContext, remote: str, head: CommitId, branch: str) -> None:
    try:
        with anyio.fail_after(_LONGEST_S):
            await push_commit(context.repository.git, remote, head, branch)
    except PushRefused as error:
        raise PersonNeeded(
            f"the PR branch was not pushed, because {error}. Orchestrate never forces a push: if the branch there "
            f"holds something else, rename or delete it (git push {remote} --delete {branch}), else allow the push; "
            "then resume the run"
        ) from error
    except (GitError, TimeoutError) as error:
        raise _build_problem(remote, error) from error


def _build_problem(remote: str, error: GitError | TimeoutError) -> EnvironmentProblem:
    if isinstance(error, UnknownRemote):
        return EnvironmentProblem(f"{error}: add it (git remote add {remote} URL), or resume with --set pr.push=NAME")
    said = str(error) or f"no answer within {_LONGEST_S:.0f} s"
    return EnvironmentProblem(
        f"{remote} cannot be reached: {said}; make `git ls-remote {remote}` work without being asked for anything, "
        "then resume the run"
    )
