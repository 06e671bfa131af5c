"""Two jobs instead of one: the first works and may only read, the second may write and works on nothing."""

from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from orchestrator.app.ci_shelf import answered, shelve
from orchestrator.app.moving import receive
from orchestrator.app.options import Options, open_repository
from orchestrator.app.place import Place, find_run
from orchestrator.ci.handover import ARCHIVE, Asked, Handover, read_handover
from orchestrator.ci.shelf import Shelf, Superseded, require_shelf
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.forge.local import recorded
from orchestrator.hands.session import open_session
from orchestrator.portable.archive import read_manifest
from orchestrator.portable.importing import FurtherHere
from worktrees.git import Git
from worktrees.refs import read_ref, set_ref


@dataclass(frozen=True)
class Delivered:
    """A run that another job worked on, here now with its refs and its PR branch; its state lies on the shelf."""

    handover: Handover
    place: Place
    state: RunState


async def keep_asked(git: Git, state: RunState) -> None:
    """Keep the pull requests that a run has opened in its own repository among its own refs, which travel with it.

    The forge's refs do not: their numbers are those of one clone.
    """
    for pr in _opened(state).values():
        if await read_ref(git, pr.ref) and (await recorded(git, pr.ref)).run == state.run.run:
            await set_ref(git, _kept(state, pr.ref), await git.text("rev-parse", "--verify", pr.ref))


async def asked_of(git: Git, state: RunState) -> tuple[Asked, ...]:
    """The pull requests that a run has opened where there is no forge behind its repository, in whichever job."""
    return tuple(
        [Asked(group=group, request=await recorded(git, _kept(state, pr.ref))) for group, pr in _opened(state).items()]
    )


def _opened(state: RunState) -> dict[str, PrOpened]:
    opened = (*([state.pr] if state.pr else []), *state.prs.values())
    return {pr.group: pr for pr in opened if pr.forge == "local"}


def _kept(state: RunState, ref: str) -> str:
    return f"refs/orchestrate/{state.run.run}/prs/{ref.rpartition('/')[2]}"


async def deliver(options: Options, remote: str, directory: Path) -> Delivered:
    """Take in what `orchestrate ci run --handover` left in a directory, and put its state where the next job looks.

    To do it again is no error.

    Raises:
        UsageProblem: there is nothing of the kind, or it is not sound, or not of this repository.
        Superseded: another job has left another state meanwhile.
        EnvironmentProblem: the remote cannot be reached, or does not allow it.
    """
    handover = await to_thread.run_sync(read_handover, directory)
    repository = await to_thread.run_sync(open_repository, options.repository)
    await require_shelf(repository.git, remote)
    archive = directory / ARCHIVE
    try:
        await receive(options, archive, None)
    except FurtherHere:
        raise Superseded(f"{archive} is older than what is here of the same run") from None
    place, state = await to_thread.run_sync(find_run, options, handover.ticket.run)
    await _put(Shelf(repository.git, remote, handover.ticket.key), handover, place, archive)
    return Delivered(handover, place, state)


async def _put(shelf: Shelf, handover: Handover, place: Place, archive: Path) -> None:
    manifest = await to_thread.run_sync(read_manifest, archive)
    ticket = handover.ticket.of_run(manifest.run, manifest.events, is_ended=manifest.is_ended).released()
    if manifest.run != handover.ticket.run:
        raise UsageProblem(f"{archive} holds run {manifest.run}, not {handover.ticket.run}: take both files of one job")
    with answered(shelf.remote):
        found = await shelf.look()
        if found == ticket:
            return
        seen = {ref: tip for ref, tip in handover.tips.items() if tip is not None}
        there = {ref: tip for ref, tip in shelf.tips.items() if tip is not None}
        if seen != there:
            raise Superseded(
                f"key {ticket.key} has been carried on by another job meanwhile: this job's state is not put there"
            )
        with open_session(place.state.path) as scratch:
            await shelve(shelf, ticket, manifest, archive, scratch)
