"""Hands that are spread over this machine and the hosts that joined the run."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from anyio import to_thread

from orchestrator.domain.hosts.record import THIS_MACHINE
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.errors import HostLost
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.hosts.borrowed_sender import BorrowedContent
from orchestrator.hands.hosts.placement import Place, choose_place
from orchestrator.hands.hosts.probe import PROBE
from orchestrator.hands.hosts.roster import HostRoster, SharedEnvironment
from orchestrator.hands.local import LocalHands
from orchestrator.hands.policy import SandboxGrant, SandboxPolicy
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import ShellCommand, Workspace
from worktrees.safety.private_directory import create_private_directory


@dataclass(frozen=True)
class SpreadRules:
    """Rules on where work goes: `may_go_out` tells whether a purpose may be served by a host."""

    may_go_out: Callable[[Purpose], bool]
    uses_this_machine: bool = True


class SpreadHands:
    """Workspaces on whichever machine has most room; implements `orchestrator.ports.hands.Hands`.

    Nothing differs for a command but the machine; `environment_hash` tells results from those of this machine alone.
    """

    def __init__(self, local: LocalHands, roster: HostRoster, key: str, rules: SpreadRules) -> None:
        self._local = local
        self._roster = roster
        self._key = key
        self._rules = rules
        self._opening_here = 0
        self._opened_here: list[LocalWorkspace] = []
        self.environment_hash = hashlib.sha256(f"hosts\n{local.environment_hash}\n".encode()).hexdigest()

    @property
    def refusal_reason(self) -> str | None:
        """The reason that commands are refused on this machine, by which others are measured."""
        return self._local.refusal_reason

    @property
    def slots(self) -> int:
        """The number of commands that run at once on all machines that take work; those of this one if none does."""
        return sum(place.slots for place in self._list_places() if place.takes_work) or self._local.slots

    @property
    def policy_summary(self) -> Mapping[str, str]:
        """The policy in words."""
        hosts = ", ".join(sorted(self._roster.hosts)) or "none has joined"
        return {**self._local.policy_summary, "hosts": hosts}

    async def open_workspace(self, commit: CommitId, purpose: Purpose) -> Workspace:
        """Open a clean workspace at a commit, here or on a host; wait where no machine takes one.

        Raises:
            EnvironmentProblem: it could not be prepared.
        """
        if not self._rules.may_go_out(purpose):
            return await self._local.open_workspace(commit, purpose)
        while True:
            place = choose_place(self._list_places(commit))
            if place is None:
                await self._roster.wait_for_host()
                continue
            if place.host == THIS_MACHINE:
                return await self._open_on_this_machine(commit, purpose)
            host = self._roster.hosts[place.host]
            try:
                return await self._roster.open_workspace(host, self._key, commit, purpose.text)
            except HostLost as lost:
                await self._roster.lose_host(place.host, "lost", str(lost), host.link)

    async def _open_on_this_machine(self, commit: CommitId, purpose: Purpose) -> LocalWorkspace:
        self._opening_here += 1
        try:
            workspace = await self._local.open_workspace(commit, purpose)
        finally:
            self._opening_here -= 1
        self._opened_here = [*(one for one in self._opened_here if one.is_open), workspace]
        return workspace

    def _list_places(self, commit: CommitId | None = None) -> list[Place]:
        places = list(self._roster.list_places(self._key, commit))
        if self._rules.uses_this_machine:
            count = self._opening_here + sum(one.is_open for one in self._opened_here)
            places.append(Place(THIS_MACHINE, self._local.slots, count, has_commit=True))
        return places


async def open_spread_hands(
    local: LocalHands, roster: HostRoster, grant: SandboxGrant, base: CommitId, state: Path, rules: SpreadRules
) -> SpreadHands:
    """Return hands over this machine's and those of all hosts on the roster, now and later.

    `grant` is what this machine's hands were opened with, `base` a commit that hosts are sent at once, and `state` the
    directory in which those keep what is theirs.

    Raises:
        EnvironmentProblem: this machine cannot say what hosts have to be like.
    """
    workspace = await local.open_workspace(base, Purpose("probe for hosts"))
    try:
        _, probe = await run_and_read(workspace, ShellCommand(line=PROBE))
    finally:
        await workspace.close()
    repository, policy = local.repository, local.policy
    mirror = hashlib.sha256(os.fsencode(repository.root)).hexdigest()[:24]
    key = f"{mirror}-{local.environment_hash[:16]}"
    await roster.add_environment(
        SharedEnvironment(
            key=key,
            mirror=mirror,
            repository=repository,
            grant=grant,
            borrowed=build_borrowed_content(policy),
            commits=(base,),
            place=await to_thread.run_sync(create_private_directory, state / "to-hosts"),
            logs=state / "logs" / f"hosts-{token_hex(4)}",
            probe=probe,
            redactor=local.redactor,
        )
    )
    return SpreadHands(local, roster, key, rules)


def build_borrowed_content(policy: SandboxPolicy) -> BorrowedContent:
    """Return what workspaces under a policy borrow of the checkout, without what is withheld from them."""
    shared = {name: Path(base) for name, base in policy.shared.items()}
    return BorrowedContent(shared, frozenset((*policy.masked, *policy.left_out)))
