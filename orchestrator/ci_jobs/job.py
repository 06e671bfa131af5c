"""A job of a CI system: it takes up its key's run where the job before left it, and leaves it for the next one."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from orchestrator.app.run_creation import create_goal_run, create_migration_run
from orchestrator.ci.handover import ARCHIVE_FILE, Handover, write_handover
from orchestrator.ci.job_labels import build_job_labels
from orchestrator.ci.job_outputs import JobResult
from orchestrator.ci.lease import LeaseRecord, check_key, claim_lease, create_lease
from orchestrator.ci.remote_state import RemoteState, check_remote, find_key
from orchestrator.ci_jobs.handover import (
    collect_pull_request_wishes,
    keep_pull_request_refs,
    limit_remote_wait,
    push_run_state,
)
from orchestrator.config.layers import merge_settings
from orchestrator.config.model import Config
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.hands.files.session_folder import open_session
from orchestrator.journal.state.derivation import read_state
from orchestrator.migrate.recipe import locate_problems
from orchestrator.portable import archive_ref
from orchestrator.portable.run_export import export_run
from orchestrator.portable.run_import import LocalRunAhead
from orchestrator.project.options import Options, choose_lower_limit, load_project_context
from orchestrator.project.recipe_trust import load_trusted_recipe
from orchestrator.run_control.control import RunLocation, find_run, prepare_resume
from orchestrator.run_control.transfer import import_run_archive
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.ref_store.remote_refs import fetch_commits


@dataclass(frozen=True)
class JobRequest:
    """The request for a CI job. Times are in seconds.

    `goal` or `recipe` is what to begin with where the key has no run yet; `wanted` names a run instead of the key.
    `limit_s` is this job's time. `holder` is what the CI system calls the job; after `stale_s` without a sign of life
    another job may take its place. With a `handover` directory instead of a `remote` the job reads what was fetched
    into the clone, and leaves the state in the directory, for another job that may push it.
    """

    holder: str
    key: str = ""
    wanted: str = ""
    goal: str = ""
    recipe: Path | None = None
    remote: str = ""
    handover: Path = Path()
    limit_s: float | None = None
    stale_s: float = 900.0
    max_hops: int | None = None
    is_anew: bool = False


@dataclass
class CiJob:
    """A job that has the key. `lease` is the lease record that the key's next job would find.

    The job stops once the run has worked `until_s` seconds in all.
    """

    options: Options
    request: JobRequest
    remote_state: RemoteState
    lease: LeaseRecord
    previous_lease: LeaseRecord
    until_s: float | None = None

    @property
    def git(self) -> Git:
        """The git repository of the clone."""
        return self.remote_state.git


async def claim_key(options: Options, request: JobRequest) -> CiJob:
    """Take the key for this job.

    Raises:
        UsageProblem: there is no such key, run or remote.
        RunLocked: another job has it.
        LimitReached: as many jobs as may have had it.
        EnvironmentProblem: the remote cannot be reached.
    """
    project = await to_thread.run_sync(load_project_context, options)
    git = project.repository.git
    if request.remote:
        await check_remote(git, request.remote)
    else:
        await to_thread.run_sync(partial(request.handover.mkdir, parents=True, exist_ok=True))
    with limit_remote_wait(request.remote):
        if request.key:
            key = check_key(request.key)
        else:
            key = await find_key(git, request.remote, request.wanted)
        remote_state = RemoteState(git, request.remote, key)
        current = await remote_state.fetch_lease_record()
    now = datetime.now(UTC)
    previous = LeaseRecord(key=remote_state.key, lease=current.lease) if request.is_anew else current
    _require_work(previous, request)
    lease = claim_lease(previous, create_lease(request.holder, now, request.stale_s), now, request.max_hops)
    push_options = _add_push_target(options, request, project.config)
    job = CiJob(push_options, request, remote_state, lease, current.release_lease())
    await _push_lease(job, lease)
    return job


def _require_work(lease: LeaseRecord, request: JobRequest) -> None:
    """Refuse a job that has nothing to do, or whose key carries on another run."""
    run = lease.run or ""
    if request.wanted and not (run.startswith(request.wanted) or run.endswith(request.wanted)):
        raise UsageProblem(f"key {lease.key} carries on run {lease.run or 'none yet'}, not {request.wanted!r}")
    if lease.run is None and not (request.goal or request.recipe):
        raise UsageProblem(f"key {lease.key} has no run to go on with: say what to begin, a GOAL or --recipe FILE")


def _add_push_target(options: Options, request: JobRequest, config: Config) -> Options:
    """Return the options with the PR branch pushed to where the state is: the job's machine is thrown away.

    A job that hands over reaches nothing: its pull requests are asked for by the one that it hands over to.
    """
    if request.remote:
        return _add_flags(options, {"pr": {"push": config.pr.push or request.remote}})
    return _add_flags(options, {"pr": {"push": "", "forge": "local", "checks_wait_s": 0, "merge": "never"}})


def _add_flags(options: Options, flags: Mapping[str, Any]) -> Options:
    return replace(options, flags=merge_settings(options.flags, flags))


async def start_or_resume_run(job: CiJob) -> tuple[RunLocation, RunState]:
    """Begin the key's run, or import it as the job before left it.

    Raises:
        OrchestrateError: it cannot be.
    """
    if job.lease.run is None:
        return await _begin_run(job)
    if job.remote_state.tips.get(RunRefs(job.lease.run).journal) is None:
        problem = f"the state of run {job.lease.run}, which key {job.lease.key} carries on, is gone"
        raise UsageProblem(f"{problem}: there is no {RunRefs(job.lease.run).journal}; begin anew with --restart")
    return await _import_key_run(job, job.lease.run)


async def _begin_run(job: CiJob) -> tuple[RunLocation, RunState]:
    request, labels = job.request, {"run": {"labels": build_job_labels(os.environ)}}
    options = replace(job.options, flags=merge_settings(labels, job.options.flags))
    if request.limit_s:
        options = _add_flags(options, {"run": {"time_limit_s": request.limit_s}})
        job.until_s = request.limit_s
    if request.recipe is not None:
        with locate_problems(request.recipe):
            recipe = await to_thread.run_sync(load_trusted_recipe, options, request.recipe)
            location = await create_migration_run(options, recipe)
    else:
        location = await create_goal_run(options, request.goal)
    return location, await to_thread.run_sync(read_state, location.directory.journal)


async def _import_key_run(job: CiJob, run: str) -> tuple[RunLocation, RunState]:
    """Import the run, which keeps its settings but for this job's own and those that the job was given."""
    own_config = (await to_thread.run_sync(load_project_context, job.options)).config
    await _fetch_missing_commits(job, run)
    # A job died here after it had last saved the state: what it recorded since is not lost.
    with suppress(LocalRunAhead):
        await import_run_archive(job.options, None, run, own=own_config, trust_recipe=True)
    _, state = await to_thread.run_sync(find_run, job.options, run)
    if job.request.goal and job.request.goal != state.run.goal:
        problem = f"key {job.lease.key} carries on run {run}, whose goal is another one"
        raise UsageProblem(f"{problem}: use another --key, leave GOAL out to go on, or begin anew with --restart")
    flags = {key: value for key, value in job.options.flags.items() if key != "contract"}
    if job.options.read_only:
        flags = merge_settings(flags, {"hands": {"read_only": list(own_config.hands.read_only)}})
    flags = merge_settings(flags, {"run": {"time_limit_s": _compute_time_limit(job, state, own_config)}})
    options = Options(job.options.repository, flags)
    return await to_thread.run_sync(partial(prepare_resume, options, run, may_reopen=False))


def _compute_time_limit(job: CiJob, state: RunState, own_config: Config) -> float:
    """Return the time limit of a resumed run, in seconds over all its jobs; a recipe only ever lowers it."""
    if job.request.limit_s:
        job.until_s = state.wall_s + job.request.limit_s
    limit_s = job.until_s or own_config.run.time_limit_s
    if state.migration.recipe:
        return choose_lower_limit(limit_s, state.migration.recipe.stop.wall_s)
    return choose_lower_limit(limit_s, 0)


async def _fetch_missing_commits(job: CiJob, run: str) -> None:
    """Fetch older commits that the run rests on; a job's clone often has only the newest one."""
    missing = await archive_ref.find_missing_commits(job.git, run)
    if missing and job.request.remote:
        # If this fails, the import tells what is missing.
        with suppress(GitError), limit_remote_wait(job.request.remote):
            await fetch_commits(job.git, job.request.remote, missing)


async def save_run_state(job: CiJob, location: RunLocation, end: JobResult | None = None, summary: str = "") -> None:
    """Save the run's state for the next job, also while an engine works on it; at the job's end release the key.

    Args:
        job: this job.
        location: the run.
        end: how the job ended, None while it works.
        summary: the run's summary as Markdown, for a handover.

    Raises:
        StateSuperseded: another job has left another one.
        EnvironmentProblem: it cannot be exported, or the remote cannot be reached.
    """
    if not job.request.remote:
        await keep_pull_request_refs(job.git, await to_thread.run_sync(read_state, location.directory.journal))
    with open_session(location.state.path) as scratch:
        if job.request.remote:
            archive = scratch / ARCHIVE_FILE
        else:
            archive = job.request.handover / ARCHIVE_FILE
        manifest = (await export_run(location.repository.git, location.directory, archive, scratch)).manifest
        lease = job.lease.update_run(manifest.run, manifest.events, is_ended=manifest.is_ended)
        if end:
            lease = lease.release_lease()
        else:
            lease = lease.renew_lease(datetime.now(UTC), job.request.stale_s)
        if job.request.remote:
            with limit_remote_wait(job.request.remote):
                await push_run_state(job.remote_state, lease, manifest, archive, scratch)
        else:
            await _write_handover(job, location, lease.release_lease(), end, summary)
    job.lease = lease


async def _write_handover(
    job: CiJob, location: RunLocation, lease: LeaseRecord, end: JobResult | None, summary: str
) -> None:
    handover = Handover(ticket=lease, tips=job.remote_state.tips)
    if end is not None:
        state = await to_thread.run_sync(read_state, location.directory.journal)
        requests = await collect_pull_request_wishes(job.git, state)
        ending = {"status": end.status, "exit": end.exit, "reason": end.reason, "resumable": end.is_resumable}
        handover = handover.model_copy(update={**ending, "cost_usd": end.cost_usd, "pull_requests": requests})
    await to_thread.run_sync(write_handover, job.request.handover, handover, summary)


async def send_heartbeat(job: CiJob) -> None:
    """Give a sign of life.

    Raises:
        StateSuperseded: another job has taken the key.
        EnvironmentProblem: the remote cannot be reached.
    """
    await _push_lease(job, job.lease.renew_lease(datetime.now(UTC), job.request.stale_s))


async def release_key(job: CiJob) -> None:
    """Leave the key as it was found, because this job could not begin.

    Raises:
        EnvironmentProblem: the remote cannot be reached.
    """
    await _push_lease(job, job.previous_lease)


async def _push_lease(job: CiJob, lease: LeaseRecord) -> None:
    if job.request.remote:
        with limit_remote_wait(job.request.remote):
            await job.remote_state.push_state(lease)
    job.lease = lease
