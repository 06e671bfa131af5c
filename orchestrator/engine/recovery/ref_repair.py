"""Making a run's refs writable again after a crash, before anything is written to them, and raising the landing fence.

The fence is a ref of the run's own that names the process which may land; every landing verifies it.
"""

import os
import socket
from collections.abc import Iterable
from uuid import uuid4

from anyio import to_thread

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingFinished, RefSet, RefSetting, RewindFinished
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.state import RunState
from orchestrator.journal.journal import Journal
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.ports.effect import record_effect
from orchestrator.queue.pr_branch import LandingFence
from worktrees.git import Git
from worktrees.locks.git_lock_files import list_lock_files
from worktrees.object_store.packs import find_existing_objects
from worktrees.object_store.trees import write_blob
from worktrees.ref_store import power_loss
from worktrees.ref_store.refs import list_refs, move_ref, read_ref, remove_dead_ref_locks, set_ref


async def repair_refs(git: Git, journal: Journal) -> None:
    """Remove dead processes' locks on the run's refs, and put back refs that have lost their content.

    Only under the run's lock, and before the fence is raised: the fence is such a ref itself.

    Raises:
        LockedRepository: a living process holds one of the locks, or it cannot be removed.
        GitError: a ref cannot be put back.
    """
    state = journal.state
    prefixes = _list_own_prefixes(state)
    notices = []
    for ref in await remove_dead_ref_locks(git, prefixes):
        notices.append(f"{ref} was locked by a process that died")
    if state.open_intents:
        emptied = await power_loss.remove_empty_objects(git, state.run.started_at.timestamp())
        notices += [f"the object {oid} had lost its content, as after a power cut, and was removed" for oid in emptied]
    broken = await power_loss.find_broken_refs(git, prefixes)
    file = journal.directory / "journal.db"
    recorded = await to_thread.run_sync(lambda: collect_recorded_refs(read_all_events(file))) if broken else {}
    notices += [await _restore_ref(git, ref, recorded.get(ref)) for ref in broken]
    notices += await _restore_missing(git, state)
    if notices:
        await journal.append(*(Noticed(level="warning", text=text) for text in notices))


def needs_ref_repair(git: Git, state: RunState) -> bool:
    """Return True if a ref of the run is locked or has lost its content, perhaps since the run ended. Blocks."""
    prefixes = _list_own_prefixes(state)
    locks = list_lock_files(git.git_dir / prefix for prefix in prefixes)
    return next(locks, None) is not None or bool(power_loss.find_broken_refs_sync(git, prefixes))


def _list_own_prefixes(state: RunState) -> tuple[str, ...]:
    return (f"refs/heads/{state.run.branch}", RunRefs(state.run.run).prefix, *state.ref_history)


async def _restore_ref(git: Git, ref: str, recorded: str | None) -> str:
    """Put a ref back where its reflog or the journal says that it was; return what became of it."""
    wanted = list(filter(None, (await power_loss.read_last_move(git, ref), recorded)))
    known = await find_existing_objects(git, wanted)
    found = next((oid for oid in wanted if oid in known), None)
    await power_loss.replace_broken_ref(git, ref, found)
    if found is None:
        return f"{ref} had lost its content, as after a power cut, and was removed: nothing is known that it held"
    return f"{ref} had lost its content, as after a power cut: it was put back at {found[:12]}"


async def _restore_missing(git: Git, state: RunState) -> list[str]:
    """Put back the refs of candidates that are gone: without one git may remove the work some day."""
    taken = {one.ref: one.commit for task in state.tasks.values() for one in task.candidates}
    standing = await list_refs(git, RunRefs(state.run.run).prefix) if taken else {}
    missing = {ref: commit for ref, commit in taken.items() if ref not in standing}
    known = await find_existing_objects(git, missing.values())
    for ref, commit in missing.items():
        if commit in known:
            await set_ref(git, ref, commit)
    return [f"{ref} was gone and was put back at {oid[:12]}" for ref, oid in missing.items() if oid in known]


def collect_recorded_refs(events: Iterable[RecordedEvent]) -> dict[str, str]:
    """Return each ref that the journal says was set, with the object that it was last set to."""
    refs: dict[str, str] = {}
    setting: dict[str, RefSetting] = {}
    for recorded in events:
        match recorded.event:
            case RefSetting() as intent:
                setting[intent.key] = intent
            case RefSet(key=key) if key in setting:
                refs[setting[key].ref] = setting[key].object
            case CandidateTaken() as taken:
                refs[taken.ref] = taken.commit
            case LandingFinished() as landing:
                refs[f"refs/heads/{landing.branch}"] = landing.new
            case RewindFinished() as rewind:
                refs[f"refs/heads/{rewind.branch}"] = rewind.new
            case _:
                pass
    return refs


async def raise_landing_fence(git: Git, journal: Journal) -> LandingFence:
    """Make this process the one that may land; a landing of any earlier one fails from now on.

    The ref is read before the intent is recorded, and moved only if nobody moved it since: so of two processes that
    start at once the one that claimed the journal last wins here too.

    Raises:
        RunTakenOver, RefMoved: another process was faster.
    """
    ref = RunRefs(journal.state.run.run).epoch
    old = await read_ref(git, ref)
    content = f"{journal.epoch} process {os.getpid()} on {socket.gethostname()} {uuid4().hex}\n"
    fence = LandingFence(ref, await write_blob(git, content.encode()))
    setting = RefSetting(key=journal.build_next_key(f"ref/{ref}"), ref=ref, object=fence.object)
    async with record_effect(journal, setting) as happening:
        await move_ref(git, ref, fence.object, old, f"orchestrate: epoch {journal.epoch}")
        happening.done = RefSet(key=setting.key)
    return fence
