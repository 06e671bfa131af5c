"""Resolves the user's grant into a policy for this host and repository, and selects a backend that was tried."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path, PurePosixPath

from anyio import to_thread

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.hands.policy import BackendChoice, SandboxGrant, SandboxPolicy
from orchestrator.hands.sandbox import backend_trials
from orchestrator.hands.sandbox.backend import Backend, HostPaths, is_system_folder
from orchestrator.hands.sandbox.backend_trials import BackendTrial
from orchestrator.hands.sandbox.program_search import BackendContext, ProgramMissing
from orchestrator.hands.toolchain import resolution, shared_paths
from worktrees.repositories.repository import GitRepository


@dataclass(frozen=True)
class SelectedBackend:
    """A backend with the facts of its self-test; `backend` is None exactly where `refusal` says why."""

    backend: Backend | None
    refusal: str | None
    facts: Mapping[str, str]


@dataclass(frozen=True)
class ResolvedPolicy:
    """A policy, and notices about interpreters that environments name and commands do not get."""

    policy: SandboxPolicy
    notices: tuple[str, ...]


async def resolve_policy(
    repository: GitRepository, grant: SandboxGrant, host_paths: HostPaths, environ: Mapping[str, str]
) -> ResolvedPolicy:
    """Make the policy for commands in this repository, as granted.

    Raises:
        UsageProblem: a granted directory is missing or may not be bound.
        GitError: the ignored files could not be listed.
    """
    own_patterns = []
    for folder in (*grant.read_only, *grant.tools):
        pattern = _make_pattern(host_paths.repository, folder.path)
        if pattern is not None:
            own_patterns.append(pattern)
    ignored = await shared_paths.find_shared_paths(repository, (*grant.share, *own_patterns))
    shared = shared_paths.merge_borrowed_paths(ignored, grant.lent, host_paths.repository)
    tools = await to_thread.run_sync(resolution.resolve_tool_chain, grant, host_paths, shared, environ)
    outputs = await to_thread.run_sync(shared_paths.find_installed_outputs, host_paths.repository, shared, grant.share)
    left_out = _select_copied(outputs, grant.writable)
    own_masked = [str(host_paths.repository / name) for name in outputs if name not in left_out]
    active = {"VIRTUAL_ENV": tools.virtual_env} if tools.virtual_env else {}
    visible: dict[str, str] = {}
    notices: tuple[str, ...] = ()
    if not grant.without_sandbox:
        visible = {name: str(base) for name, base in shared.items()}
        notices = tuple(_describe_missing_pythons(tools))
    policy = SandboxPolicy(
        tier=grant.tier,
        read_only=tuple(map(str, tools.read_only)),
        programs=tuple(program for program in grant.programs if _must_be_bound(host_paths.repository, Path(program))),
        masked=(*map(str, tools.masked), *own_masked),
        path=tools.path,
        env={**active, **grant.env},
        shared=visible,
        writable=grant.writable,
        left_out=left_out,
        limits=grant.limits,
        uid=grant.uid if os.geteuid() == 0 else None,
        is_confined=not grant.without_sandbox,
    )
    return ResolvedPolicy(policy, notices)


def _select_copied(names: Sequence[str], writable: Sequence[str]) -> tuple[str, ...]:
    """Return those of the names that lie in something of which each workspace gets a copy."""
    copied = []
    for name in names:
        if any(shared_paths.is_shared_name(str(parent), writable) for parent in PurePosixPath(name).parents):
            copied.append(name)
    return tuple(copied)


def _describe_missing_pythons(tools: resolution.ToolChain) -> Iterator[str]:
    for prefix, environment in tools.unbound.items():
        yield (
            f"{environment} needs the Python in {prefix}, which is neither on your PATH nor where a version manager "
            "keeps them; an environment in the checkout does not decide what of this machine commands see. If it is "
            f"yours: --read-only {prefix}"
        )
    for prefix, environment in tools.closed.items():
        yield (
            f"{environment} needs the Python in {prefix}, which this user may not read: make the environment anew with "
            "a Python that this user may run, or let this user read that one"
        )


async def find_withheld_outputs(repository: GitRepository, policy: SandboxPolicy) -> tuple[str, ...]:
    """Return what was compiled from the project's sources in the checkout and workspaces do not see, sorted.

    Raises:
        GitError: the ignored files could not be listed.
    """
    names = await shared_paths.list_ignored(repository)
    found = await to_thread.run_sync(shared_paths.find_compiled_outputs, repository.root, names, policy.shared)
    masked = map(Path, policy.masked)
    inside = (str(path.relative_to(repository.root)) for path in masked if path.is_relative_to(repository.root))
    return tuple(sorted((*found, *inside, *policy.left_out)))


async def select_backend(context: BackendContext, wanted: BackendChoice = BackendChoice.AUTO) -> SelectedBackend:
    """Return the first backend that starts and passes its self-test.

    Raises:
        UsageProblem: the policy asks for no sandbox where that is refused.
    """
    tier = context.policy.tier
    if tier == Tier.FILES:
        words = f"Commands are refused: the policy grants tier {int(tier)}, {tier.description}."
        return SelectedBackend(None, words, {})
    if not context.policy.is_confined:
        return await to_thread.run_sync(_select_no_sandbox, context)
    failed: list[BackendTrial] = []
    async for trial in backend_trials.iterate_backend_trials(context, wanted):
        if trial.backend is not None:
            return SelectedBackend(trial.backend, None, {**_describe_choice(trial, failed), **trial.facts})
        failed.append(trial)
    return SelectedBackend(None, format_refusal(failed), failed[0].facts)


async def find_missing_sandbox(context: BackendContext, wanted: BackendChoice) -> str | None:
    """Return why commands are refused, as far as that is known without a self-test; None if nothing is known.

    Raises:
        UsageProblem: the policy asks for no sandbox where that is refused.
    """
    if context.policy.tier == Tier.FILES or not context.policy.is_confined:
        return (await select_backend(context, wanted)).refusal
    missing = await backend_trials.list_missing_backends(context, wanted)
    return format_refusal(missing) if missing else None


def _select_no_sandbox(context: BackendContext) -> SelectedBackend:
    from orchestrator.hands.sandbox.no_sandbox import build_no_sandbox  # only for who asks for it

    try:
        return SelectedBackend(build_no_sandbox(context), None, {"backend": UNSAFE_BANNER})
    except ProgramMissing as error:
        return SelectedBackend(None, str(error), {})


def _describe_choice(trial: BackendTrial, failed: Sequence[BackendTrial]) -> Mapping[str, str]:
    not_used = " ".join(f"{failure.name}: {_end_sentence(failure.trouble)}" for failure in failed)
    return {"backend": trial.name, **({"not used": not_used} if failed else {})}


def format_refusal(failed: Sequence[BackendTrial]) -> str:
    """Return why commands are refused, the remedy for each backend, and what works without commands."""
    first, *others = failed
    advice = backend_trials.render_repair_advice(first.trouble)
    words = [f"{_end_sentence(first.trouble)} Commands are refused on this host. {advice}"]
    words.append(backend_trials.get_container_remedy(first.trouble))
    for trial in others:
        remedy = backend_trials.get_container_remedy(trial.trouble)
        words.append(f"{trial.name} instead: {_end_sentence(trial.trouble)} {remedy}".rstrip())
    words.append("What needs no commands works all the same: `orchestrate plan`, and whatever reads or exports runs.")
    return " ".join(filter(None, words))


def _end_sentence(text: str) -> str:
    return f"{text.rstrip('. ')}."


def _must_be_bound(root: Path, program: Path) -> bool:
    """Return True if neither the system's folders nor the checkout hold the program, so that it must be bound."""
    return not is_system_folder(program) and not program.is_relative_to(root)


def _make_pattern(root: Path, text: str) -> str | None:
    """Return a given directory inside the repository as a pattern for shared paths; None if it lies elsewhere."""
    path = Path(normpath(root / text))
    return f"/{path.relative_to(root)}" if path.is_relative_to(root) and path != root else None
