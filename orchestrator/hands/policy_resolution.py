"""From what the user grants to a policy for this host and repository, and to a sandbox that was tried."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.hands.policy import BackendChoice, SandboxGrant, SandboxPolicy
from orchestrator.hands.sandbox.backend import Backend
from orchestrator.hands.sandbox.backend_trials import BackendTrial, TrialContext, iterate_backend_trials
from orchestrator.hands.sandbox.host_paths import HostPaths, is_system_folder
from orchestrator.hands.sandbox.no_sandbox import build_no_sandbox
from orchestrator.hands.sandbox.program_search import ProgramMissing
from orchestrator.hands.sandbox.repair_advice import get_container_remedy, render_repair_advice
from orchestrator.hands.toolchain import resolution
from orchestrator.hands.toolchain.compiled_outputs import find_compiled_outputs, find_installed_outputs
from orchestrator.hands.toolchain.shared_paths import find_shared_paths, list_ignored, merge_borrowed_paths
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
    repository: GitRepository, grant: SandboxGrant, around: HostPaths, environ: Mapping[str, str]
) -> ResolvedPolicy:
    """Make the policy for commands in this repository, as granted.

    Raises:
        UsageProblem: a granted directory is missing or may not be bound.
        GitError: the ignored files could not be listed.
    """
    own = [p for one in grant.read_only if (p := _within(around.repository, one.path)) is not None]
    shared = merge_borrowed_paths(
        await find_shared_paths(repository, (*grant.share, *own)), grant.lent, around.repository
    )
    tools = await to_thread.run_sync(resolution.resolve_tool_chain, grant.read_only, around, shared, environ)
    own_outputs = await to_thread.run_sync(find_installed_outputs, around.repository, shared, grant.share)
    active = {"VIRTUAL_ENV": tools.virtual_env} if tools.virtual_env else {}
    policy = SandboxPolicy(
        tier=grant.tier,
        read_only=tuple(map(str, tools.read_only)),
        programs=tuple(program for program in grant.programs if _is_missing(around.repository, Path(program))),
        masked=(*map(str, tools.masked), *(str(around.repository / name) for name in own_outputs)),
        path=tools.path,
        env={**active, **grant.env},
        shared={} if grant.without_sandbox else {name: str(base) for name, base in shared.items()},
        limits=grant.limits,
        uid=grant.uid if os.geteuid() == 0 else None,
        is_confined=not grant.without_sandbox,
    )
    return ResolvedPolicy(policy, () if grant.without_sandbox else tuple(_unbound(tools)))


def _unbound(tools: resolution.ToolChain) -> Iterator[str]:
    for prefix, environment in tools.unbound.items():
        yield (
            f"{environment} needs the Python in {prefix}, which is neither on your PATH nor where a version manager "
            "keeps them; an environment in the checkout does not decide what of this machine commands see. If it is "
            f"yours: --read-only {prefix}"
        )


async def find_withheld_outputs(repository: GitRepository, policy: SandboxPolicy) -> tuple[str, ...]:
    """Return what was compiled from the project's sources in the checkout and workspaces do not see, sorted.

    Raises:
        GitError: the ignored files could not be listed.
    """
    names = await list_ignored(repository)
    found = await to_thread.run_sync(find_compiled_outputs, repository.root, names, policy.shared)
    masked = (Path(place) for place in policy.masked)
    inside = (str(place.relative_to(repository.root)) for place in masked if place.is_relative_to(repository.root))
    return tuple(sorted((*found, *inside)))


async def select_backend(
    policy: SandboxPolicy,
    around: HostPaths,
    environ: Mapping[str, str],
    session: Path,
    wanted: BackendChoice = BackendChoice.AUTO,
) -> SelectedBackend:
    """Return the first backend that starts and passes its self-test; its files lie in the directory `session`.

    Raises:
        UsageProblem: the policy asks for no sandbox where that is refused.
    """
    if policy.tier == Tier.FILES:
        words = f"Commands are refused: the policy grants tier {int(policy.tier)}, {policy.tier.description}."
        return SelectedBackend(None, words, {})
    if not policy.is_confined:
        return await to_thread.run_sync(_unconfined, policy, around, environ, session)
    failed: list[BackendTrial] = []
    async for candidate in iterate_backend_trials(TrialContext(policy, around, environ, session), wanted):
        if candidate.backend is not None:
            return SelectedBackend(candidate.backend, None, {**_chosen(candidate, failed), **candidate.facts})
        failed.append(candidate)
    return SelectedBackend(None, format_refusal(failed), failed[0].facts)


def _unconfined(policy: SandboxPolicy, around: HostPaths, environ: Mapping[str, str], session: Path) -> SelectedBackend:
    try:
        backend = build_no_sandbox(policy, around, session, environ)
    except ProgramMissing as error:
        return SelectedBackend(None, str(error), {})
    return SelectedBackend(backend, None, {"backend": UNSAFE_BANNER})


def _chosen(candidate: BackendTrial, failed: Sequence[BackendTrial]) -> Mapping[str, str]:
    not_used = " ".join(f"{one.name}: {_sentence(one.trouble)}" for one in failed)
    return {"backend": candidate.name, **({"not used": not_used} if failed else {})}


def format_refusal(failed: Sequence[BackendTrial]) -> str:
    """Return why commands are refused, the remedy for each backend, and what works without commands."""
    first, *others = failed
    words = [f"{_sentence(first.trouble)} Commands are refused on this host. {render_repair_advice(first.trouble)}"]
    words += [get_container_remedy(first.trouble)] if get_container_remedy(first.trouble) else []
    words += [
        f"{one.name} instead: {_sentence(one.trouble)} {get_container_remedy(one.trouble)}".rstrip() for one in others
    ]
    words.append("What needs no commands works all the same: `orchestrate plan`, and whatever reads or exports runs.")
    return " ".join(words)


def _sentence(text: str) -> str:
    return f"{text.rstrip('. ')}."


def _is_missing(root: Path, program: Path) -> bool:
    """Return True if neither the system's folders nor the checkout hold the program, so that it must be bound."""
    return not is_system_folder(program) and not program.is_relative_to(root)


def _within(root: Path, text: str) -> str | None:
    """Return a given directory inside the repository as a pattern for shared paths; None if it lies elsewhere."""
    place = Path(normpath(root / text))
    if place.is_relative_to(root) and place != root:
        return f"/{place.relative_to(root)}"
    return None
