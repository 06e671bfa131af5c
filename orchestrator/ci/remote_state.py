"""The state that the jobs of a key leave for the next one: two refs of a remote, which move together or not at all.

`refs/orchestrate/ci/KEY` holds the ticket, `refs/orchestrate/RUN/journal` the run as `run export --ref` makes it. Both
are replaced only as long as they are what this job knows: what another one has put there is never lost.
"""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from orchestrator.ci.lease import LeaseRecord
from orchestrator.domain.ids import RunId, find_named_runs
from orchestrator.domain.refs import LEASE_PREFIX, RunRefs, build_lease_ref
from orchestrator.errors import EnvironmentProblem, RunLocked, UsageProblem
from worktrees.errors import GitError, UnknownRemote
from worktrees.git import Git
from worktrees.object_store.merge import EPOCH_DATE, commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import read_blob, write_blob, write_empty_tree
from worktrees.ref_store.refs import list_refs, read_ref
from worktrees.ref_store.remote_refs import fetch_refs, get_push_url, list_remote_refs, swap_remote_refs

LEASE_FILE = "ticket.json"

RefTips = dict[str, str | None]
"""Refs with what each points at, None: it does not exist."""


class StateSuperseded(RunLocked):
    """The state at the remote is another job's by now."""


@dataclass
class RemoteState:
    """The state of one key at a remote; `tips` are the refs as this job last saw or put them there.

    Without a remote it is what somebody has fetched into this clone, and can only be looked at. `doubted` is what was
    pushed without anybody hearing whether it arrived.
    """

    git: Git
    remote: str
    key: str
    tips: RefTips = field(default_factory=dict)
    unconfirmed: dict[str, str] = field(default_factory=dict)

    async def fetch_lease_record(self) -> LeaseRecord:
        """Fetch the job record and the state of its run, each into the ref of the same name; empty if there is none.

        Raises:
            UsageProblem: there is no such remote, or what lies there is none of ours.
            EnvironmentProblem: it cannot be reached.
        """
        ref = build_lease_ref(self.key)
        if not await self._fetched(ref):
            self.tips = {ref: None}
            return LeaseRecord(key=self.key)
        ticket = await _read(self.git, ref)
        self.tips = {ref: await read_ref(self.git, ref)}
        if ticket.run is not None:
            state = RunRefs(ticket.run).journal
            self.tips[state] = await read_ref(self.git, state) if await self._fetched(state) else None
        return ticket

    async def _fetched(self, ref: str) -> bool:
        if not self.remote:
            return await read_ref(self.git, ref) is not None
        try:
            if ref not in await list_remote_refs(self.git, self.remote, ref):
                return False
            await fetch_refs(self.git, self.remote, [ref])
        except GitError as error:
            raise _problem(self.remote, error) from error
        return True

    async def push_state(self, ticket: LeaseRecord, journal: str | None = None, objects: Path | None = None) -> None:
        """Leave a ticket, and with it a run's state.

        Args:
            ticket: the ticket.
            journal: the commit that holds the state of the ticket's run, None to leave it as it is.
            objects: the objects of another repository, where that commit may lie.

        Raises:
            Superseded: another job has put something there.
            EnvironmentProblem: the remote cannot be reached, or does not allow it.
        """
        await self._settle()
        new: dict[str, str] = {build_lease_ref(self.key): await _commit(self.git, ticket)}
        if journal is not None and ticket.run is not None:
            new[RunRefs(ticket.run).journal] = journal
        moves = {ref: (oid, self.tips.get(ref)) for ref, oid in new.items() if self.tips.get(ref) != oid}
        if not moves:
            return
        self.unconfirmed = new
        try:
            await swap_remote_refs(self.git, self.remote, moves, objects)
        except GitError as error:
            await self._require_arrived(new, error)
        self.tips |= new
        self.unconfirmed = {}

    async def _settle(self) -> None:
        """Find out what became of the last push, if nobody has heard: what it put there is this job's own."""
        if not self.unconfirmed:
            return
        try:
            there = await list_remote_refs(self.git, self.remote, *self.unconfirmed)
        except GitError as error:
            raise _problem(self.remote, error) from error
        if all(there.get(ref) == oid for ref, oid in self.unconfirmed.items()):
            self.tips |= self.unconfirmed
        self.unconfirmed = {}

    async def _require_arrived(self, new: dict[str, str], error: GitError) -> None:
        """Make sure that all arrived although git could not tell: an answer may get lost on its way."""
        try:
            there = await list_remote_refs(self.git, self.remote, *new)
        except GitError:
            raise _problem(self.remote, error) from error
        if all(there.get(ref) == oid for ref, oid in new.items()):
            return
        moved = [ref for ref in new if there.get(ref) != self.tips.get(ref)]
        if moved:
            raise StateSuperseded(
                f"{moved[0]} on {self.remote} is another job's by now, so this one's state was not put there: two jobs "
                f"with the key {self.key} worked at the same time, or --stale-after is too short"
            ) from error
        raise EnvironmentProblem(
            f"nothing can be left on {self.remote}: {error}; allow this job to push refs/orchestrate/* (on GitHub: "
            "permissions: contents: write), or divide it in two with --handover DIR and `orchestrate ci publish`"
        ) from error


async def find_key(git: Git, remote: str, wanted: str) -> str:
    """Return the key whose jobs carry on a run, which may be named in short (`find_named_runs`).

    Without a remote it is looked for among the refs of this clone.

    Raises:
        UsageProblem: no key of the remote does, or more than one.
        EnvironmentProblem: the remote cannot be reached.
    """
    if remote:
        refs = await _all_tickets(git, remote)
    else:
        refs = list(await list_refs(git, LEASE_PREFIX))
    runs = {ref.removeprefix(LEASE_PREFIX): (await _read(git, ref)).run or RunId("") for ref in refs}
    named = find_named_runs(wanted, filter(None, runs.values()))
    found = [key for key, run in runs.items() if run in named]
    if len(found) != 1:
        known = ", ".join(f"{run} ({key})" for key, run in runs.items() if run) or "none"
        problem = "is carried on by more than one key" if found else "is carried on by no key"
        raise UsageProblem(f"{wanted!r} {problem} (there are: {known}): name one with --key")
    return found[0]


async def _all_tickets(git: Git, remote: str) -> list[str]:
    try:
        refs = list(await list_remote_refs(git, remote, f"{LEASE_PREFIX}*"))
        if refs:
            await fetch_refs(git, remote, refs)
    except GitError as error:
        raise _problem(remote, error) from error
    return refs


async def check_remote(git: Git, remote: str) -> None:
    """Make sure that there is such a remote.

    Raises:
        UsageProblem: there is none.
    """
    try:
        await get_push_url(git, remote)
    except UnknownRemote as error:
        raise _problem(remote, error) from error


async def _commit(git: Git, ticket: LeaseRecord) -> str:
    text = ticket.model_dump_json(indent=1).encode()
    tree = await overlay_tree(git, await write_empty_tree(git), {LEASE_FILE: ("100644", await write_blob(git, text))})
    message = f"Jobs of key {ticket.key}: run {ticket.run}, hop {ticket.hop}\n"
    return await commit_tree(git, tree, [], message, EPOCH_DATE)


async def _read(git: Git, ref: str) -> LeaseRecord:
    try:
        return LeaseRecord.model_validate_json(await read_blob(git, f"{ref}:{LEASE_FILE}"))
    except (GitError, ValidationError) as error:
        problem = f"{ref} holds no ticket that this version of orchestrate understands: use the version that wrote it"
        raise UsageProblem(f"{problem}, or remove it there (git push REMOTE --delete {ref}) to begin anew") from error


def _problem(remote: str, error: GitError) -> UsageProblem | EnvironmentProblem:
    if isinstance(error, UnknownRemote):
        return UsageProblem(f"{error}: add it (git remote add {remote} URL), or name another with --remote")
    problem = f"{remote} cannot be reached: {error}"
    return EnvironmentProblem(f"{problem}; make `git ls-remote {remote}` work without being asked for anything")
