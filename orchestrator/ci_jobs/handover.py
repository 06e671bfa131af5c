"""Hand a run from the job that works and may only read to the job that may write and works on nothing.

Also answers what a run asks while it lies only in refs, before it goes on, and pushes a run's state to its key's.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio import to_thread

from orchestrator.ci.handover import ARCHIVE_FILE, Handover, RequestedPullRequest, read_handover
from orchestrator.ci.lease import LeaseRecord, check_key
from orchestrator.ci.remote_state import RemoteState, StateSuperseded, check_remote
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.forge.local import read_pull_request
from orchestrator.hands.files.session_folder import open_session
from orchestrator.portable import archive_ref
from orchestrator.portable.archive import read_manifest
from orchestrator.portable.manifest import Manifest
from orchestrator.portable.run_import import LocalRunAhead
from orchestrator.project.options import Options, load_project_context, open_repository
from orchestrator.report.rows.questions import get_only_question_item, get_question_item
from orchestrator.run_control.control import RunLocation, find_run
from orchestrator.run_control.transfer import import_run_archive
from worktrees.git import Git
from worktrees.object_store.packs import read_object_format
from worktrees.ref_store.refs import read_ref, set_ref

_LONGEST_S = 1800.0


@dataclass(frozen=True)
class DeliveredRun:
    """A run that another job worked on, here now with its refs and PR branch; its state lies on the remote."""

    handover: Handover
    location: RunLocation
    state: RunState


async def keep_pull_request_refs(git: Git, state: RunState) -> None:
    """Keep the pull requests that a run has opened in its own repository among its own refs, which travel with it.

    The forge's refs do not: their numbers are those of one clone.
    """
    for pr in _index_opened_requests(state).values():
        if await read_ref(git, pr.ref) and (await read_pull_request(git, pr.ref)).run == state.run.run:
            commit = await git.run_text("rev-parse", "--verify", pr.ref)
            await set_ref(git, RunRefs(state.run.run).build_pull_request_ref(pr.ref), commit)


async def collect_pull_request_wishes(git: Git, state: RunState) -> tuple[RequestedPullRequest, ...]:
    """Return the pull requests that a run has opened without a forge, in whichever job."""
    requests = []
    for group, pr in _index_opened_requests(state).items():
        request = await read_pull_request(git, RunRefs(state.run.run).build_pull_request_ref(pr.ref))
        requests.append(RequestedPullRequest(group=group, request=request))
    return tuple(requests)


def _index_opened_requests(state: RunState) -> dict[str, PrOpened]:
    return {pr.group: pr for pr in list_opened_requests(state) if pr.forge == "local"}


def list_opened_requests(state: RunState) -> list[PrOpened]:
    """Return all pull requests that a run has opened."""
    return list(filter(None, (state.pr, *state.migration.prs.values())))


async def receive_handover(options: Options, remote: str, directory: Path) -> DeliveredRun:
    """Import the run that `orchestrate ci run --handover` left in a directory, and push its state for the next job.

    To do it again is no error.

    Raises:
        UsageProblem: there is nothing of the kind, or it is not sound, or not of this repository.
        StateSuperseded: another job has left another state meanwhile.
        EnvironmentProblem: the remote cannot be reached, or does not allow it.
    """
    handover = await to_thread.run_sync(read_handover, directory)
    repository = await to_thread.run_sync(open_repository, options.repository)
    await check_remote(repository.git, remote)
    archive = directory / ARCHIVE_FILE
    try:
        await import_run_archive(options, archive, None)
    except LocalRunAhead:
        raise StateSuperseded(f"{archive} is older than what is here of the same run") from None
    location, state = await to_thread.run_sync(find_run, options, handover.ticket.run)
    await _push_state(RemoteState(repository.git, remote, handover.ticket.key), handover, location, archive)
    return DeliveredRun(handover, location, state)


async def _push_state(remote_state: RemoteState, handover: Handover, location: RunLocation, archive: Path) -> None:
    manifest = await to_thread.run_sync(read_manifest, archive)
    lease = handover.ticket.update_run(manifest.run, manifest.events, is_ended=manifest.is_ended).release_lease()
    if manifest.run != handover.ticket.run:
        raise UsageProblem(f"{archive} holds run {manifest.run}, not {handover.ticket.run}: take both files of one job")
    with limit_remote_wait(remote_state.remote):
        found = await remote_state.fetch_lease_record()
        if found == lease:
            return
        tips_then = {ref: tip for ref, tip in handover.tips.items() if tip is not None}
        tips_now = {ref: tip for ref, tip in remote_state.tips.items() if tip is not None}
        if tips_then != tips_now:
            problem = "has been carried on by another job meanwhile: this job's state is not put there"
            raise StateSuperseded(f"key {lease.key} {problem}")
        with open_session(location.state.path) as scratch:
            await push_run_state(remote_state, lease, manifest, archive, scratch)


async def import_run_of_key(options: Options, key: str) -> tuple[RunLocation, RunState]:
    """Import the run that a key's jobs carry on, from the refs of this clone.

    Raises:
        UsageProblem: there is none.
    """
    project = await to_thread.run_sync(load_project_context, options)
    lease = await RemoteState(project.repository.git, "", check_key(key)).fetch_lease_record()
    if lease.run is None:
        raise UsageProblem(f"key {key} has no run in this clone: fetch refs/orchestrate/* first, or begin one")
    with suppress(LocalRunAhead):
        await import_run_archive(options, None, lease.run, own=project.config)
    return await to_thread.run_sync(find_run, options, lease.run)


def select_waiting_item(state: RunState, named: str) -> str:
    """Return the item of the question that `named` names, or of the only one that waits if it is empty.

    Raises:
        UsageProblem: there is none such.
    """
    return get_question_item(state, named) if named else get_only_question_item(state)


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
