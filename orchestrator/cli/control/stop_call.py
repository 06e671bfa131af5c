"""`orchestrate stop-call`: end the one command that an agent waits for."""

from typing import Any

import click

from orchestrator.cli.control.commands import deliver_command, find_commanded_run
from orchestrator.cli.options import json_option, repository_options
from orchestrator.domain.commands.definitions import StopCall
from orchestrator.domain.commands.stop_call import find_running_call, find_running_call_of_task
from orchestrator.domain.event.work import ToolCalled
from orchestrator.domain.ids import SessionId, TaskId, parse_effect_name
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem


@click.command("stop-call")
@click.argument("run")
@click.argument("task")
@click.option("--reason", default="", help="Why; the agent is told.")
@repository_options
@json_option
def stop_call_command(run: str, task: str, reason: str, **given: Any) -> None:  # noqa: ANN401
    """End the command that the agent at TASK of RUN waits for. The agent is told so, with what it printed, and goes on.

    TASK may be a conversation, too, as `logs` names them.

    \b
    orchestrate stop-call latest parser --reason "it waits for a server that never comes"
    """
    place, state = find_commanded_run(run, given)
    call = _running(state, task)
    stop = StopCall(session=call.session, call=parse_effect_name(call.key), reason=reason)
    deliver_command(place, state, stop, wake=False, as_json=given["as_json"])


def _running(state: RunState, name: str) -> ToolCalled:
    if name not in state.tasks and name not in state.sessions:
        raise UsageProblem(f"there is no task or conversation {name!r} in this run")
    call = find_running_call(state, SessionId(name)) or find_running_call_of_task(state, TaskId(name))
    if call is None:
        raise UsageProblem(f"{name} is using no tool now: there is nothing to stop")
    return call
