"""From what the user grants to a policy for this host and repository, and to a sandbox that was tried."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.tier import Tier
from orchestrator.hands import toolchain
from orchestrator.hands.backend import Backend
from orchestrator.hands.places import Surroundings
from orchestrator.hands.policy import Grant, Policy
from orchestrator.hands.probe import ProbeReport, probe, refused
from orchestrator.hands.programs import ProgramMissing, find_programs
from orchestrator.hands.sandbox import build_sandbox
from orchestrator.hands.share import borrowed, find_shared
from worktrees.repository import Repository


@dataclass(frozen=True)
class Tried:
    """A backend with what its self-test said. `backend` is None exactly where `refusal` says why."""

    backend: Backend | None
    refusal: str | None
    facts: Mapping[str, str]


async def resolve_policy(
    repository: Repository, grant: Grant, around: Surroundings, environ: Mapping[str, str]
) -> Policy:
    """The policy for commands in this repository, as granted.

    Raises:
        UsageProblem: a granted directory is missing or may not be bound.
        GitError: the ignored files could not be listed.
    """
    own = [p for one in grant.read_only if (p := _within(around.repository, one.path)) is not None]
    shared = borrowed(await find_shared(repository, (*grant.share, *own)), grant.lent, around.repository)
    tools = await to_thread.run_sync(toolchain.resolve, grant.read_only, around, shared, environ)
    active = {"VIRTUAL_ENV": tools.virtual_env} if tools.virtual_env else {}
    return Policy(
        tier=grant.tier,
        read_only=tuple(map(str, tools.read_only)),
        masked=tuple(map(str, tools.masked)),
        path=tools.path,
        env={**active, **grant.env},
        shared={name: str(base) for name, base in shared.items()},
        limits=grant.limits,
        uid=grant.uid if os.geteuid() == 0 else None,
    )


async def try_sandbox(policy: Policy, around: Surroundings, environ: Mapping[str, str], session: Path) -> Tried:
    """The sandbox for a policy, if it comes up and holds on this host; its files lie in the directory `session`."""
    if policy.tier == Tier.FILES:
        words = f"Commands are refused: the policy grants tier {int(policy.tier)}, {policy.tier.words}."
        return Tried(None, words, {})
    try:
        untrusted = (around.repository, around.state)
        programs = await to_thread.run_sync(find_programs, environ, untrusted, policy.uid is not None)
        sandbox = await to_thread.run_sync(build_sandbox, policy, programs, around, session / "fixtures")
    except ProgramMissing as error:
        return _failed(refused(str(error)))
    except OSError as error:
        return _failed(refused(f"The sandbox could not be prepared: {error}"))
    report = await probe(sandbox, session / "probe")
    return _failed(report) if report.refusal else Tried(sandbox, None, report.facts)


def _failed(report: ProbeReport) -> Tried:
    return Tried(None, report.refusal, report.facts)


def _within(root: Path, text: str) -> str | None:
    """A given directory inside the repository, as a pattern for what is shared."""
    place = Path(normpath(root / text))
    return f"/{place.relative_to(root)}" if place.is_relative_to(root) and place != root else None
