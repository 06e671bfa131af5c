"""From what the user grants to a policy for this host and repository, and to a sandbox that was tried."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.tier import Tier
from orchestrator.domain.unsafe import UNSAFE
from orchestrator.hands import toolchain
from orchestrator.hands.advice import advice, remedy
from orchestrator.hands.backend import Backend
from orchestrator.hands.built import compiled_outputs, installed_outputs
from orchestrator.hands.candidates import Candidate, Trial, candidates
from orchestrator.hands.places import Surroundings, is_provided
from orchestrator.hands.policy import Choice, Grant, Policy
from orchestrator.hands.programs import ProgramMissing
from orchestrator.hands.share import borrowed, find_shared, list_ignored
from orchestrator.hands.unconfined import build_unconfined
from worktrees.repository import Repository


@dataclass(frozen=True)
class Tried:
    """A backend with what its self-test said. `backend` is None exactly where `refusal` says why."""

    backend: Backend | None
    refusal: str | None
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Resolved:
    """A policy, and what people should know of it: interpreters that environments name and commands do not get."""

    policy: Policy
    notices: tuple[str, ...]


async def resolve_policy(
    repository: Repository, grant: Grant, around: Surroundings, environ: Mapping[str, str]
) -> Resolved:
    """Make the policy for commands in this repository, as granted.

    Raises:
        UsageProblem: a granted directory is missing or may not be bound.
        GitError: the ignored files could not be listed.
    """
    own = [p for one in grant.read_only if (p := _within(around.repository, one.path)) is not None]
    shared = borrowed(await find_shared(repository, (*grant.share, *own)), grant.lent, around.repository)
    tools = await to_thread.run_sync(toolchain.resolve, grant.read_only, around, shared, environ)
    own_outputs = await to_thread.run_sync(installed_outputs, around.repository, shared, grant.share)
    active = {"VIRTUAL_ENV": tools.virtual_env} if tools.virtual_env else {}
    policy = Policy(
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
    return Resolved(policy, () if grant.without_sandbox else tuple(_unbound(tools)))


def _unbound(tools: toolchain.ToolChain) -> Iterator[str]:
    for prefix, environment in tools.unbound.items():
        yield (
            f"{environment} needs the Python in {prefix}, which is neither on your PATH nor where a version manager "
            "keeps them; an environment in the checkout does not decide what of this machine commands see. If it is "
            f"yours: --read-only {prefix}"
        )


async def withheld_outputs(repository: Repository, policy: Policy) -> tuple[str, ...]:
    """Return what was compiled from the project's sources in the checkout and workspaces do not see, sorted.

    Raises:
        GitError: the ignored files could not be listed.
    """
    names = await list_ignored(repository)
    found = await to_thread.run_sync(compiled_outputs, repository.root, names, policy.shared)
    masked = (Path(place) for place in policy.masked)
    inside = (str(place.relative_to(repository.root)) for place in masked if place.is_relative_to(repository.root))
    return tuple(sorted((*found, *inside)))


async def try_backends(
    policy: Policy, around: Surroundings, environ: Mapping[str, str], session: Path, wanted: Choice = Choice.AUTO
) -> Tried:
    """The first backend for a policy that comes up and holds on this host; files lie in the directory `session`.

    Raises:
        UsageProblem: the policy asks for no sandbox where that is refused.
    """
    if policy.tier == Tier.FILES:
        words = f"Commands are refused: the policy grants tier {int(policy.tier)}, {policy.tier.words}."
        return Tried(None, words, {})
    if not policy.is_confined:
        return await to_thread.run_sync(_unconfined, policy, around, environ, session)
    failed: list[Candidate] = []
    async for candidate in candidates(Trial(policy, around, environ, session), wanted):
        if candidate.backend is not None:
            return Tried(candidate.backend, None, {**_chosen(candidate, failed), **candidate.facts})
        failed.append(candidate)
    return Tried(None, refusal(failed), failed[0].facts)


def _unconfined(policy: Policy, around: Surroundings, environ: Mapping[str, str], session: Path) -> Tried:
    try:
        backend = build_unconfined(policy, around, session, environ)
    except ProgramMissing as error:
        return Tried(None, str(error), {})
    return Tried(backend, None, {"backend": UNSAFE})


def _chosen(candidate: Candidate, failed: Sequence[Candidate]) -> Mapping[str, str]:
    not_used = " ".join(f"{one.name}: {_sentence(one.trouble)}" for one in failed)
    return {"backend": candidate.name, **({"not used": not_used} if failed else {})}


def refusal(failed: Sequence[Candidate]) -> str:
    """Why commands are refused where no backend holds, how to mend it for each, and what works all the same."""
    first, *others = failed
    words = [f"{_sentence(first.trouble)} Commands are refused on this host. {advice(first.trouble)}"]
    words += [remedy(first.trouble)] if remedy(first.trouble) else []
    words += [f"{one.name} instead: {_sentence(one.trouble)} {remedy(one.trouble)}".rstrip() for one in others]
    words.append("What needs no commands works all the same: `orchestrate plan`, and whatever reads or exports runs.")
    return " ".join(words)


def _sentence(text: str) -> str:
    return f"{text.rstrip('. ')}."


def _is_missing(root: Path, program: Path) -> bool:
    """Whether a sandbox would not have the program anyway, from the system or from the checkout."""
    return not is_provided(program) and not program.is_relative_to(root)


def _within(root: Path, text: str) -> str | None:
    """A given directory inside the repository, as a pattern for what is shared."""
    place = Path(normpath(root / text))
    return f"/{place.relative_to(root)}" if place.is_relative_to(root) and place != root else None
