"""Calls of tools that people have stopped: which one is meant, and what is known of it afterwards."""

from orchestrator.domain.commands.definitions import StopCall
from orchestrator.domain.event.work import ToolCalled
from orchestrator.domain.ids import SessionId, TaskId, parse_effect_name
from orchestrator.domain.run.state import RunState


def find_running_call(state: RunState, session: SessionId) -> ToolCalled | None:
    """Return the tool call that a conversation waits for; None if it waits for none."""
    return next((call for call in _list_running_calls(state) if call.session == session), None)


def find_running_call_of_task(state: RunState, task: TaskId) -> ToolCalled | None:
    """Return the latest tool call that a conversation about a task waits for."""
    return next((call for call in reversed(_list_running_calls(state)) if call.task == task), None)


def _list_running_calls(state: RunState) -> list[ToolCalled]:
    return [intent for intent in state.open_intents.values() if isinstance(intent, ToolCalled)]


def explain_stop_refusal(state: RunState, command: StopCall) -> str:
    """Return the reason why a call cannot be stopped; empty when it can.

    A command that names a call does not stop a later one.
    """
    if command.session not in state.sessions:
        return f"there is no conversation {command.session!r} in this run"
    running = find_running_call(state, command.session)
    if running is None:
        return f"{command.session} is using no tool now: there is nothing to stop"
    name = parse_effect_name(running.key)
    if command.call not in ("", name):
        return "the call that was meant is over; another one runs now"
    if name in state.stopped_calls:
        return f"{running.name} is being stopped already"
    return ""


def record_stopped_call(state: RunState, command: StopCall) -> None:
    """Record that a call is to end, and is not to be made again if it was cut off otherwise."""
    if running := find_running_call(state, command.session):
        state.stopped_calls[parse_effect_name(running.key)] = command.reason
