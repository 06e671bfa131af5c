"""`doctor`: find out what works here and what does not, and tell how to mend it."""

import os
import platform
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from anyio import to_thread

from orchestrator.config.roles import ModelSettings
from orchestrator.doctor.budget_checks import check_budget
from orchestrator.doctor.engine_checks import check_engines
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.doctor.gate_trial import try_gate
from orchestrator.doctor.host_checks import check_hosts
from orchestrator.doctor.policy_checks import check_policy
from orchestrator.doctor.repository_checks import check_repository
from orchestrator.domain.refs import is_own_ref
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.errors import OrchestrateError
from orchestrator.forge.factory import open_forge_repository
from orchestrator.hands.local import open_local_hands
from orchestrator.llm.router import ModelRouter
from orchestrator.project.narrow_limits import find_narrow_limits
from orchestrator.project.options import (
    Options,
    ProjectContext,
    build_grant,
    build_provider_rules,
    load_project_context,
)
from roles.configured_models import iterate_configured_models
from worktrees.errors import GitError, LockedRepository
from worktrees.git import MIN_GIT_VERSION, read_git_version
from worktrees.locks.git_lock_files import find_repository_locks, get_locked_ref
from worktrees.object_store.commit_style import try_signing

_UNUSED = "no configured model falls under this key, so its limits hold for nothing: see docs/providers.md"
_MIN_FREE_BYTES = 2 * 1024**3


async def check_requirements(
    options: Options, *, in_ci: bool = False, runs_gate: bool = False
) -> AsyncIterator[DoctorFinding]:
    """Check everything a run needs, one finding at a time; nothing is changed and no model is called.

    With `in_ci` also what a job of a CI system needs; with `runs_gate` the gate is run to its end, not only started.
    """
    yield DoctorFinding("python", sys.version_info >= (3, 11), platform.python_version())
    yield await _check_git()
    try:
        project = await to_thread.run_sync(load_project_context, options)
    except OrchestrateError as error:
        yield DoctorFinding("repository", False, str(error))
        return
    yield DoctorFinding("repository", True, f"{project.repository.root}, {project.repository.read_head_commit()[:12]}")
    yield _check_disk(project.state.path)
    yield await _check_locks(project)
    for finding in await check_repository(project):
        yield finding
    for finding in await _check_sandbox(project, runs_gate=runs_gate):
        yield finding
    for finding in await _check_signing(project):
        yield finding
    for finding in await _check_forge(project):
        yield finding
    for finding in await _check_models(project):
        yield finding
    hosts = await to_thread.run_sync(list, check_hosts(project.config.hosts.listen, project.config.hosts.certs))
    for finding in (*await check_budget(project.config), *await check_policy(project), *hosts):
        yield finding
    if in_ci:
        from orchestrator.doctor.ci_checks import check_ci_job

        for finding in await to_thread.run_sync(check_ci_job, project):
            yield finding


async def _check_git() -> DoctorFinding:
    try:
        found = await to_thread.run_sync(read_git_version)
    except GitError as error:
        return DoctorFinding("git", False, f"{error}; install git with your system's package manager")
    version = ".".join(map(str, found))
    if found >= MIN_GIT_VERSION:
        return DoctorFinding("git", True, version)
    needed = ".".join(map(str, MIN_GIT_VERSION))
    return DoctorFinding("git", False, f"{version}: {needed} or newer is needed (merge-tree --write-tree)")


def _check_disk(state: Path) -> DoctorFinding:
    folder = next(parent for parent in (state, *state.parents) if parent.exists())
    if not os.access(folder, os.W_OK | os.X_OK):
        advice = f"name another place for {state} with --state DIR"
        return DoctorFinding("state", False, f"{folder} cannot be written to: {advice}")
    free = shutil.disk_usage(folder).free
    text = f"{free / 1024**3:.0f} GiB free for {state}"
    return DoctorFinding("state", free > _MIN_FREE_BYTES, text, is_warning=True)


async def _check_locks(project: ProjectContext) -> DoctorFinding:
    """Check for locks of dead processes: those on our refs are no problem, the others stand in everybody's way."""
    git_dir = project.repository.common_dir
    found = await find_repository_locks(git_dir)
    problems, removable = [], []
    for lock in found.dead:
        if is_own_ref(get_locked_ref(git_dir, lock.path)):
            removable.append(f"{lock.path} was left by a process that died: the next resume or gc removes it")
        else:
            problems.append(str(LockedRepository.for_held_lock(lock.path, ())))
    problems += [str(LockedRepository.for_held_lock(lock.path, holders)) for lock, holders in found.held.items()]
    problems += removable
    return DoctorFinding("git locks", not problems, "; ".join(problems) or "none was left", is_warning=True)


async def _check_sandbox(project: ProjectContext, *, runs_gate: bool) -> list[DoctorFinding]:
    """Return all findings of the sandbox, and of the gate in it, at once.

    Nothing may be yielded out of a task group: a reader who goes away would leave it open.
    """
    try:
        async with open_local_hands(project.repository, project.state.path, build_grant(project.config)) as hands:
            refusal = hands.refusal_reason
            first = DoctorFinding("sandbox", refusal is None, refusal or "the escape self-test passed")
            if project.config.hands.without_sandbox:
                first = DoctorFinding("sandbox", False, UNSAFE_BANNER, is_warning=True)
            findings = [first]
            for name, text in hands.policy_summary.items():
                if name not in {"commands", "self-test"}:
                    findings.append(DoctorFinding(f"sandbox {name}", True, text))
            findings += await try_gate(project, hands, is_whole=runs_gate)
            if not project.config.mcp:
                return findings
            from orchestrator.doctor.mcp_checks import check_servers  # few people have any

            return findings + await check_servers(project, hands)
    except OrchestrateError as error:
        return [DoctorFinding("sandbox", False, str(error))]


async def _check_signing(project: ProjectContext) -> list[DoctorFinding]:
    """Sign a commit that no ref will hold, where commits are to be signed."""
    if project.config.commits.sign == "never":
        return []
    from orchestrator.engine.commits import build_commit_style  # few sign, and it takes its time to load

    style = build_commit_style(project.config.commits)
    try:
        await try_signing(project.repository.git, style)
    except GitError as error:
        return [DoctorFinding("signing", False, str(error))]
    return [DoctorFinding("signing", True, f"{style.signature}, with {style.key or 'your user.signingKey'}")]


async def _check_forge(project: ProjectContext) -> list[DoctorFinding]:
    """Check the forge; there is nothing to check where pull requests stay in the repository."""
    try:
        async with open_forge_repository(project.repository, project.config, is_impatient=True) as forge:
            access = await forge.describe_access()
    except OrchestrateError as problem:
        return [DoctorFinding("forge", False, str(problem))]
    return [DoctorFinding("forge", True, access)] if access else []


async def _check_models(project: ProjectContext) -> list[DoctorFinding]:
    config = project.config
    async with ModelRouter(Path()) as router:
        found = await to_thread.run_sync(list, check_engines(config))
        for name, settings in iterate_configured_models(config.roles):
            found.append(await _check_model(router, name, settings))
    rules = build_provider_rules(config)
    used_keys = set()
    for _, settings in iterate_configured_models(config.roles):
        used_keys.add(rules.get_limits_key(settings.model, settings.api_base or None))
    for limit in find_narrow_limits(config):
        found.append(DoctorFinding(f"calls at {limit.key}", False, limit.text, is_warning=True))
    unused = sorted(set(config.providers) - used_keys)
    return found + [DoctorFinding(f"providers.{key}", False, _UNUSED, is_warning=True) for key in unused]


async def _check_model(router: ModelRouter, name: str, settings: ModelSettings) -> DoctorFinding:
    if not settings.model:
        text = f"none: set roles.{name}.model, or --model {name}=MODEL; only `run` and `plan` need it"
        return DoctorFinding(f"model {name}", False, text, is_warning=True)
    problem = await router.find_model_problem(settings.model, settings.api_base or None, settings.api_key_env or None)
    return DoctorFinding(f"model {name}", problem is None, problem or settings.model)
