"""Answering what a run asks that only lies in refs: in a job, before it goes on."""

from contextlib import suppress

from anyio import to_thread

from orchestrator.app.moving import receive
from orchestrator.app.options import Options, look_around
from orchestrator.app.place import Place, find_run
from orchestrator.ci.shelf import Shelf
from orchestrator.ci.ticket import require_key
from orchestrator.domain.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.portable.importing import FurtherHere


async def run_of_key(options: Options, key: str) -> tuple[Place, RunState]:
    """The run that a key's jobs carry on, taken in from the refs of this clone.

    Raises:
        UsageProblem: there is none.
    """
    around = await to_thread.run_sync(look_around, options)
    ticket = await Shelf(around.repository.git, "", require_key(key)).look()
    if ticket.run is None:
        raise UsageProblem(f"key {key} has no run in this clone: fetch refs/orchestrate/* first, or begin one")
    with suppress(FurtherHere):
        await receive(options, None, ticket.run, own=around.config)
    return await to_thread.run_sync(find_run, options, ticket.run)


def item_of(state: RunState, named: str) -> str:
    """The item that is meant: by its name, by its number among those that wait, or the only one.

    Raises:
        UsageProblem: there is none such.
    """
    waiting = [one.approval.item for one in state.waiting]
    told = ", ".join(f"{number} {item}" for number, item in enumerate(waiting, start=1)) or "nothing"
    if named.isdecimal():
        if not 1 <= int(named) <= len(waiting):
            raise UsageProblem(f"run {state.run.run} asks no number {named}; it asks {told}")
        return waiting[int(named) - 1]
    if not named and len(waiting) != 1:
        raise UsageProblem(f"run {state.run.run} does not ask one thing, it asks {told}: name it")
    return named or waiting[0]
