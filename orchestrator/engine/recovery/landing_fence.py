"""The fence in git: a ref of the run's own that names the process which may land. Every landing verifies it."""

import os
import socket
from uuid import uuid4

from orchestrator.domain.event.landing import RefSet, RefSetting
from orchestrator.domain.refs import RunRefs
from orchestrator.journal.journal import Journal
from orchestrator.ports.effect import record_effect
from orchestrator.queue.pr_branch import LandingFence
from worktrees.git import Git
from worktrees.object_store.trees import write_blob
from worktrees.ref_store.refs import move_ref, read_ref


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
