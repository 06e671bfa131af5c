"""Using a tool that a person may stop: only what the tool waits for ends, and the model learns why."""

from collections.abc import Coroutine
from dataclasses import replace

import anyio

from orchestrator.agent.tools.base import ToolResult
from orchestrator.ports.hands import Workspace
from orchestrator.ports.ledger import Ledger

_DYING_S = 10.0
"""How long a tool has to come to its own end after what it waited for was killed."""


async def run_stoppable_tool(
    ledger: Ledger, call: str, workspace: Workspace | None, use: Coroutine[object, object, ToolResult]
) -> ToolResult:
    """Return what a tool returns; of one that a person stops, what its command had printed by then.

    Args:
        ledger: tells when a person has it stopped. One that was stopped in an earlier process is not used again.
        call: the name of the effect, `tool/SESSION/TURN/INDEX`.
        workspace: where the session's commands run; no other session's do.
        use: the tool in use.
    """
    if call in ledger.state.stopped_calls:
        use.close()
        return ToolResult(_told(ledger, call), is_ok=False)
    result: ToolResult | None = None
    problem: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end, ledger, call, workspace, tasks.cancel_scope)
        try:
            result = await use
        except Exception as error:  # noqa: BLE001 - raised again below: the group would wrap it
            problem = error
        tasks.cancel_scope.cancel()
    if problem is not None:
        raise problem
    if call not in ledger.state.stopped_calls and result is not None:
        return result
    if result is None:
        printed = ToolResult("")
    else:
        printed = result
    return replace(printed, text=f"{_told(ledger, call)}\n{printed.text}".rstrip(), is_ok=False, final=None)


async def _end(ledger: Ledger, call: str, workspace: Workspace | None, scope: anyio.CancelScope) -> None:
    await ledger.wait_for_call_stop(call)
    if workspace is not None:
        await workspace.interrupt_commands()
        await anyio.sleep(_DYING_S)
    scope.cancel()


def _told(ledger: Ledger, call: str) -> str:
    reason = ledger.state.stopped_calls.get(call, "")
    return f"A person stopped this call{f': {reason}' if reason else '.'}"
