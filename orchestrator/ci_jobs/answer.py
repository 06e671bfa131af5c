"""Answer what a run asks while it lies only in refs: in a job, before the run goes on."""

from contextlib import suppress

from anyio import to_thread

from orchestrator.ci.lease import check_key
from orchestrator.ci.remote_state import RemoteState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.portable.run_import import LocalRunAhead
from orchestrator.project.options import Options, load_project_context
from orchestrator.run_control.location import RunLocation, find_run
from orchestrator.run_control.transfer import import_run_archive


async def import_run_of_key(options: Options, key: str) -> tuple[RunLocation, RunState]:
    """Import the run that a key's jobs carry on, from the refs of this clone.

    Raises:
        UsageProblem: there is none.
    """
    project = await to_thread.run_sync(load_project_context, options)
    lease = await RemoteState(project.repository.git, "", check_key(key)).fetch_lease_record()
    if lease.run is None:
        raise UsageProblem(f"key {key} has no run in this clone: fetch refs/orchestrate/* first, or begin one")
    with suppress(LocalRunAhead):
        await import_run_archive(options, None, lease.run, own=project.config)
    return await to_thread.run_sync(find_run, options, lease.run)


def select_waiting_item(state: RunState, named: str) -> str:
    """Return the waiting item that `named` names, by name or number, or the only one if it is empty.

    Raises:
        UsageProblem: there is none such.
    """
    waiting = [pending.approval.item for pending in state.pending_approvals]
    listing = ", ".join(f"{number} {item}" for number, item in enumerate(waiting, start=1)) or "nothing"
    if named.isdecimal():
        if not 1 <= int(named) <= len(waiting):
            raise UsageProblem(f"run {state.run.run} asks no number {named}; it asks {listing}")
        return waiting[int(named) - 1]
    if not named and len(waiting) != 1:
        raise UsageProblem(f"run {state.run.run} does not ask one thing, it asks {listing}: name it")
    return named or waiting[0]
