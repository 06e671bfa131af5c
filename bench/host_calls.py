"""Measure a call to a host beside the same on this machine; part of `bench.hosts`, in a process of its own.

    python -m bench.host_calls [CALLS]

A host process with a certificate of its own serves hands over loopback. Both ways take turns, in random order, for so
many calls: a small file is read, and `true` is run in the sandbox. Prints milliseconds as JSON in its last line.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from orchestrator import __version__
from orchestrator.domain.event import Event
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.hands.hosts.certificates.checking import load_certificates
from orchestrator.hands.hosts.network.dask_brain import ListenOptions, listen_for_hosts
from orchestrator.hands.hosts.roster import HostRoster
from orchestrator.hands.hosts.spread_hands import SpreadRules, open_spread_hands
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import ShellCommand, Workspace
from tests.running.host_processes import create_certificates, run_host
from tests.running.projects import calculator
from worktrees.repositories.repository import GitRepository

_HOST = "one"
_JOIN_S = 120.0
_LOST_AFTER_S = 300.0
_RULES = SpreadRules(lambda _: True, uses_this_machine=False)

Call = Callable[[Workspace], Awaitable[object]]


def main() -> None:
    """Measure, and print the figures as JSON."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        print(json.dumps(anyio.run(measure_calls, Path(scratch), calls)))


async def measure_calls(place: Path, calls: int) -> dict[str, float]:
    """Return half and 99 of 100 of all calls, by what is called: what they take here, and how much more there."""
    async with open_workspaces(place) as workspaces:
        samples = await sample_calls(workspaces, calls)
    figures = {}
    for what in _CALLS:
        here, there = sorted(samples[what, "here"]), sorted(samples[what, "there"])
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            place_of_share = min(int(len(here) * share), len(here) - 1)
            figures[f"{what}_here_{name}_ms"] = here[place_of_share]
            figures[f"{what}_more_{name}_ms"] = there[place_of_share] - here[place_of_share]
    return figures


@asynccontextmanager
async def open_workspaces(place: Path) -> AsyncIterator[Mapping[str, Workspace]]:
    """Open a workspace on this machine, and one on a host that is a process."""
    create_certificates(place / "certs", [_HOST])
    repository = GitRepository.open(calculator(place / "repository"))
    base, purpose, grant = CommitId(repository.read_head_commit()), Purpose("bench"), SandboxGrant()
    options = ListenOptions("127.0.0.1", 0, load_certificates(place / "certs" / "brain", "brain"), _LOST_AFTER_S)
    roster = HostRoster(__version__, _leave_out)
    async with open_local_hands(repository, place / "state", grant, slots=2) as local:
        if local.refusal_reason:
            sys.exit(local.refusal_reason)
        spread = await open_spread_hands(local, roster, grant, base, place / "state", _RULES)
        async with listen_for_hosts(options, roster) as address:
            with run_host(place / "host", place / "certs", address, _HOST, slots=2), anyio.fail_after(_JOIN_S):
                there = await spread.open_workspace(base, purpose)
                yield {"here": await local.open_workspace(base, purpose), "there": there}
                await there.close()


async def _leave_out(_: Event) -> None:
    """Record nothing."""


async def sample_calls(workspaces: Mapping[str, Workspace], calls: int) -> dict[tuple[str, str], list[float]]:
    """Return the milliseconds of every call, by what is called and where; the first round does not count."""
    samples: dict[tuple[str, str], list[float]] = {(what, where): [] for what in _CALLS for where in workspaces}
    for turn in range(calls + 1):
        for what, where in random.sample(list(samples), len(samples)):
            begun = time.perf_counter()
            await _CALLS[what](workspaces[where])
            if turn:
                samples[what, where].append((time.perf_counter() - begun) * 1000)
    return samples


async def _read_small_file(workspace: Workspace) -> None:
    await workspace.read_file("calc.py")


async def _run_true(workspace: Workspace) -> None:
    result = await run_command(workspace, ShellCommand(line="true"))
    if not result.is_success:
        sys.exit(f"true: {result.ending} {result.exit_code} {result.detail}")


_CALLS: Mapping[str, Call] = {"read": _read_small_file, "true": _run_true}


if __name__ == "__main__":
    main()
