"""The verbs that tell a run something: approve, deny, pause, continue, retry, cancel; and what waits in its inbox."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import click

from orchestrator.cli.engine_follower import start_background_engine
from orchestrator.cli.journal_reader import open_run_journal
from orchestrator.cli.options import json_option, repository_options
from orchestrator.cli.output import print_lines, print_message, print_object
from orchestrator.cli.run_lookup import has_live_engine
from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Continue, Deny, Pause, Retry
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import RunLocked, UsageProblem
from orchestrator.project.options import Options
from orchestrator.report.rows.questions import get_question_item
from orchestrator.run_control.location import RunLocation, find_run, predict_state
from orchestrator.run_control.send_command import send_command

F = TypeVar("F", bound=Callable[..., Any])
_WAIT_S = 5.0
_LEAVING_S = 60.0  # hooks and notifications come after the last thing that an engine does
_POLL_S = 0.1
_run = click.argument("run")
_reason = click.option("--reason", default="", help="Why; it is kept, and shown to whoever it concerns.")
_no_wake = click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")


@click.command("approve")
@_run
@click.argument("item", required=False)
@_reason
@_no_wake
@repository_options
@json_option
def approve_command(run: str, item: str | None, reason: str, no_wake: bool, **given: Any) -> None:  # noqa: ANN401
    """Answer yes to ITEM (what RUN asks, if it is one thing), which may be its number in the inbox.

    An engine is started if none lives.

    \b
    orchestrate approve latest
    orchestrate approve latest 2
    orchestrate approve 7f3a landing/parser@1 --reason "looked at it"
    """
    _answer(run, item, partial(Approve, reason=reason), no_wake, given)


@click.command("deny")
@_run
@click.argument("item", required=False)
@_reason
@_no_wake
@repository_options
@json_option
def deny_command(run: str, item: str | None, reason: str, no_wake: bool, **given: Any) -> None:  # noqa: ANN401
    """Answer no to ITEM (what RUN asks, if it is one thing), which may be its number in the inbox.

    The reason goes to whoever asked.

    \b
    orchestrate deny 7f3a plan/root@1 --reason "leave the parser alone"
    """
    _answer(run, item, partial(Deny, reason=reason), no_wake, given)


@click.command("pause")
@_run
@_reason
@repository_options
@json_option
def pause_command(run: str, reason: str, **given: Any) -> None:  # noqa: ANN401
    """Stop RUN at its next model call or file; nothing begins before `orchestrate continue`.

    \b
    orchestrate pause latest --reason "the provider is slow today"
    """
    place, state = find_commanded_run(run, given)
    deliver_command(place, state, Pause(reason=reason), wake=False, as_json=given["as_json"])


@click.command("continue")
@_run
@repository_options
@json_option
def continue_command(run: str, **given: Any) -> None:  # noqa: ANN401
    """Go on with RUN after a pause, in the background.

    \b
    orchestrate continue latest
    """
    place, state = find_commanded_run(run, given)
    deliver_command(place, state, Continue(), wake=True, as_json=given["as_json"])


@click.command("cancel")
@_run
@click.argument("task", required=False)
@_reason
@repository_options
@json_option
def cancel_command(run: str, task: str | None, reason: str, **given: Any) -> None:  # noqa: ANN401
    """Give up TASK with all below it, or the whole RUN. What landed stays, and so does every candidate.

    \b
    orchestrate cancel 7f3a reporting/csv
    orchestrate cancel 7f3a --reason "another goal came up"
    """
    place, state = find_commanded_run(run, given)
    command = Cancel(task=TaskId(task) if task not in (None, ROOT_TASK) else None, reason=reason)
    deliver_command(place, state, command, wake=True, as_json=given["as_json"])


@click.command("retry")
@_run
@click.argument("task")
@click.option("--note", default="", help="What the worker is to know.")
@click.option("--from", "turn", type=click.IntRange(0), metavar="TURN", help="Go on from the end of this turn.")
@click.option("--attempt", type=click.IntRange(1), help="The attempt whose turn is meant; the latest if not given.")
@_no_wake
@repository_options
@json_option
def retry_command(
    run: str,
    task: str,
    note: str,
    turn: int | None,
    attempt: int | None,
    no_wake: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Have TASK tried again, afresh or with the files and the words of an earlier turn; an ended run is opened again.

    \b
    orchestrate retry 7f3a storage/index --note "keep the old file format"
    orchestrate retry 7f3a storage/index --from 12
    """
    if attempt is not None and turn is None:
        raise UsageProblem("--attempt says whose turn is meant: give the turn too (--from TURN)")
    place, state = find_commanded_run(run, given)
    command = Retry(task=TaskId(task), note=note, attempt=attempt, turn=turn)
    deliver_command(place, state, command, wake=not no_wake, as_json=given["as_json"])


@click.command("inbox")
@click.argument("run", required=False)
@repository_options
@json_option
def inbox_command(run: str | None, **given: Any) -> None:  # noqa: ANN401
    """Show what RUN asks of a person, and the commands that no engine has taken yet.

    \b
    orchestrate inbox
    """
    place, state = find_commanded_run(run, given)
    sent = [one for _, one in place.directory.inbox.iterate_commands()]
    if given["as_json"]:
        print_object(
            {
                "schema": "orchestrate.inbox/1",
                "run": place.directory.run,
                "waiting": [one.approval.model_dump(mode="json") for one in state.pending_approvals],
                "sent": [one.model_dump(mode="json") for one in sent],
            }
        )
        return
    lines = [line for number, one in enumerate(state.pending_approvals, start=1) for line in _asked(number, one)]
    lines += [f"not taken yet: {one.command.do} by {one.by}, {one.at:%Y-%m-%d %H:%M:%S} UTC" for one in sent]
    print_lines(lines or [f"run {place.directory.run} asks nothing"])


def _asked(number: int, one: ApprovalState) -> list[str]:
    asked = one.approval
    until = f" (counts as {asked.default} after {asked.expires_at:%Y-%m-%d %H:%M} UTC)" if asked.expires_at else ""
    return [f"{number}  {asked.item}  {asked.title}{until}", *(f"    {text}" for text in asked.detail)]


def _answer(run: str, item: str | None, answer: Callable[..., Command], no_wake: bool, given: dict[str, Any]) -> None:
    place, state = find_commanded_run(run, given)
    if item is None:
        names = [one.approval.item for one in state.pending_approvals]
        if len(names) != 1:
            told = f"asks {len(names)} things: name one of {', '.join(names)}" if names else "asks nothing"
            raise UsageProblem(f"run {place.directory.run} {told}")
        item = names[0]
    item = get_question_item(state, item)
    deliver_command(place, state, answer(item=item), wake=not no_wake, as_json=given["as_json"])


def find_commanded_run(run: str | None, given: dict[str, Any]) -> tuple[RunLocation, RunState]:
    """The run that a verb is to tell something, and where it stands."""
    flags = {"state": {"dir": given["state"]}} if given["state"] else {}
    return find_run(Options(given["repo"], flags), run)


def deliver_command(place: RunLocation, state: RunState, command: Command, *, wake: bool, as_json: bool) -> None:
    """Leave a command, see to it that an engine takes it, and tell what became of it."""
    key, outcome = "", None
    if not has_live_engine(place.directory):
        outcome = explain_refusal(predict_state(place, state), command) or None
    if outcome is None:
        key = send_command(place.directory, command)
        outcome = _outcome(place, state, key, wake) if wake or has_live_engine(place.directory) else None
    told = {None: "waits for the next engine", "": "taken"}.get(outcome, f"refused: {outcome}")
    if as_json:
        names = {"run": place.directory.run, "key": key, "do": command.do}
        print_object({"schema": "orchestrate.command/1", **names, "taken": outcome is not None, "refused": outcome})
    elif not outcome:
        print_message(f"{command.do}: {told}")
        if wake and has_live_engine(place.directory):
            print_message(
                f"run {place.directory.run} goes on in the background; see: orchestrate status {place.directory.run}"
            )
    if outcome:
        raise UsageProblem(outcome)


def _outcome(place: RunLocation, state: RunState, key: str, wake: bool) -> str | None:
    """Why an engine refused the command, empty if it did not; None if none has taken it within some seconds.

    With `wake` an engine is started where none lives, also when the one that lived was about to leave and missed it.
    """
    begun, is_woken = time.monotonic(), False
    with open_run_journal(place.directory) as store:
        while True:
            was_live = has_live_engine(
                place.directory
            )  # asked first: what an engine that has left did is all there to read
            for recorded in store.read_events(after=state.seq):
                apply_recorded_event(state, recorded)
            is_leaving = was_live and wake and (state.paused or state.ended) is not None
            is_over = time.monotonic() - begun > (_LEAVING_S if is_leaving else _WAIT_S)
            is_missed = wake and not was_live
            if key in state.taken_commands or (is_over and (is_woken or not is_missed)) or not (was_live or wake):
                return state.taken_commands.get(key)
            if is_missed:
                with suppress(RunLocked):  # another one was faster, and will take it
                    start_background_engine(place)
                begun, is_woken = begun if is_woken else time.monotonic(), True
            time.sleep(_POLL_S)
