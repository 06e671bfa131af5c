"""Push a run's state to the remote state of its key."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.ci.lease import LeaseRecord
from orchestrator.ci.remote_state import RemoteState
from orchestrator.errors import EnvironmentProblem
from orchestrator.portable import archive_ref
from orchestrator.portable.manifest import Manifest
from worktrees.git import Git
from worktrees.object_store.packs import read_object_format

_LONGEST_S = 1800.0


async def push_run_state(
    remote_state: RemoteState, lease: LeaseRecord, manifest: Manifest, archive: Path, scratch: Path
) -> None:
    """Push an archive of the lease's run together with the lease; raises as `RemoteState.push_state`.

    The objects that it is pushed as are not kept in the clone: a long job would fill the disk with them.
    """
    scratch_git = Git(scratch / "shelf.git")
    await to_thread.run_sync(scratch_git.git_dir.mkdir)
    await scratch_git.run("init", "--quiet", "--bare", f"--object-format={await read_object_format(remote_state.git)}")
    ref = await archive_ref.write_archive_ref(scratch_git, manifest, archive)
    commit = await scratch_git.run_text("rev-parse", "--verify", ref)
    await remote_state.push_state(lease, commit, scratch_git.git_dir / "objects")


@contextmanager
def limit_remote_wait(remote: str) -> Iterator[None]:
    """Limit the time that the block may wait for a remote.

    Raises:
        EnvironmentProblem: it did not answer.
    """
    try:
        with anyio.fail_after(_LONGEST_S):
            yield
    except TimeoutError as error:
        raise EnvironmentProblem(f"{remote} did not answer within {_LONGEST_S:.0f} s") from error
