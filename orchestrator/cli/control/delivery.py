"""Delivery of a person's command to a run, and the wait for what an engine makes of it."""

import time
from contextlib import suppress
from pathlib import Path

from orchestrator.cli.documents import CommandDocument
from orchestrator.cli.engine_follower import start_background_engine
from orchestrator.cli.flags import Flags
from orchestrator.cli.journal_reader import open_run_journal
from orchestrator.cli.output import print_lines, print_message, print_object
from orchestrator.cli.run_lookup import has_live_engine, locate_named_run
from orchestrator.domain.commands.answers import Answer, get_decision
from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Continue, HostCommand
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.planning.plan_edits import describe_plan_change, list_plan_changes
from orchestrator.domain.planning.plan_toml import render_plan
from orchestrator.domain.run.approval import DECISION_WORDS, ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import RunLocked, UsageProblem
from orchestrator.journal.state.derivation import apply_read_event
from orchestrator.project.options import Options
from orchestrator.report.edited_plans import suggest_again, write_plan_file
from orchestrator.report.run.cancellation import Cancellation, preview_cancellation, render_cancellation
from orchestrator.report.run.condition import explain_nothing_to_continue
from orchestrator.run_control.control import RunLocation, find_run, predict_state, send_command

_OUTCOME_WAIT_S = 5.0
_ENGINE_EXIT_WAIT_S = 60.0  # hooks and notifications come after the last thing that an engine does
_POLL_S = 0.1


def find_commanded_run(run: str | None, repo: Path, state: str) -> tuple[RunLocation, RunState]:
    """Return the run that a verb is about, and its state.

    Args:
        run: what names it, see `StateDirectory.find_run`, outside of any repository over all; None for the latest.
        repo: the value of --repo.
        state: the value of --state.
    """
    place = locate_named_run(run, repo, state)
    return find_run(Options(place.repo, Flags(state=place.state).values), place.run)


def deliver_command(place: RunLocation, state: RunState, command: Command, *, wake: bool, as_json: bool) -> None:
    """Leave a command in the inbox of a run, and print what an engine made of it.

    Args:
        place: the run.
        state: its state; what an engine does meanwhile is folded into it.
        command: the command.
        wake: start an engine if none lives.
        as_json: print one JSON object instead of words.

    Raises:
        UsageProblem: the run refuses the command.
    """
    key, preview, question = "", _preview(state, command), _find_answered_question(state, command)
    outcome, edits = _explain_early_refusal(place, state, command) or None, _list_edits(command, question)
    if outcome is None:
        key = send_command(place.directory, command)
        if wake or has_live_engine(place.directory):
            outcome = _await_outcome(place, state, key, wake)
    if as_json:
        document = CommandDocument(
            run=place.directory.run,
            key=key,
            do=command.do,
            taken=outcome is not None,
            refused=outcome,
            question=str(question.id) if question else None,
            title=question.approval.title if question else None,
            cancelled=None if outcome else preview,
            edited=edits or None,
        )
        print_object(document.as_object())
    elif not outcome:
        _print_words(place, _describe_outcome(command, question, outcome), wake)
        if preview is not None:
            print_lines(render_cancellation(preview))
        if edits:
            print_lines(edits)
    if outcome:
        raise UsageProblem(outcome + _keep_plan(place, command, question))


def _explain_early_refusal(place: RunLocation, state: RunState, command: Command) -> str:
    """Return why a command makes no sense, as far as that is known before an engine takes it; empty if it may."""
    is_live = has_live_engine(place.directory)
    if isinstance(command, Continue):
        problem = explain_nothing_to_continue(predict_state(place, state), is_live)
        if problem or is_live:
            return problem
    if is_live:
        return ""
    if isinstance(command, HostCommand) and state.ended is None:
        return f"no engine is at work on run {place.directory.run}, so no host is joined: orchestrate resume goes on"
    return explain_refusal(predict_state(place, state), command)


def _preview(state: RunState, command: Command) -> Cancellation | None:
    """Return what a cancellation means for the run as it stands; None if it is refused, and for other commands."""
    if isinstance(command, Cancel) and not explain_refusal(state, command):
        return preview_cancellation(state, command.task)
    return None


def _find_answered_question(state: RunState, command: Command) -> ApprovalState | None:
    """Return the question that a command answers; None for any other command, and where there is none such."""
    return state.find_question(command.item) if isinstance(command, Answer) else None


def _list_edits(command: Command, question: ApprovalState | None) -> tuple[str, ...]:
    """Return how a plan is approved otherwise than it was proposed, in words; nothing where nobody edited it."""
    if question is None or question.approval.plan is None or not isinstance(command, Approve) or command.plan is None:
        return ()
    return tuple(map(describe_plan_change, list_plan_changes(question.approval.plan, command.plan)))


def _keep_plan(place: RunLocation, command: Command, question: ApprovalState | None) -> str:
    """Keep a plan that was refused, and return how to give it again; empty where there is none."""
    if question is None or not isinstance(command, Approve) or command.plan is None:
        return ""
    file = write_plan_file(render_plan(command.plan))
    return f"; {suggest_again(place.directory.run, question, file)}"


def _describe_outcome(command: Command, question: ApprovalState | None, outcome: str | None) -> str:
    """Return what became of a command: `approved q2: land parser@1: 3 files, +10 −2 lines`."""
    if question is None or not isinstance(command, Answer):
        return f"{command.do}: {'waits for the next engine' if outcome is None else 'taken'}"
    title = to_one_line(question.approval.title)
    if outcome is None:
        return f"{command.do} {question.id}: waits for the next engine ({title})"
    return f"{DECISION_WORDS[get_decision(command)]} {question.id}: {title}"


def _print_words(place: RunLocation, words: str, wake: bool) -> None:
    run = place.directory.run
    print_message(words)
    if wake and has_live_engine(place.directory):
        print_message(f"run {run} goes on in the background; see: orchestrate status {run}")


def _await_outcome(place: RunLocation, state: RunState, key: str, wake: bool) -> str | None:
    """Return why an engine refused a command, empty if it did not; None if none has taken it within some seconds.

    With `wake` an engine is started where none lives, also when the one that lived was about to leave and missed it.
    """
    begun, is_woken = time.monotonic(), False
    with open_run_journal(place.directory) as store:
        while True:
            was_live = has_live_engine(place.directory)  # first: all that an engine which has left did can be read then
            for recorded in store.read_events(after=state.seq):
                apply_read_event(place.directory.journal, state, recorded)
            if key in state.taken_commands:
                return state.taken_commands[key]
            if not was_live and not wake:
                return None
            is_leaving = was_live and wake and (state.paused or state.ended) is not None
            is_over = time.monotonic() - begun > (_ENGINE_EXIT_WAIT_S if is_leaving else _OUTCOME_WAIT_S)
            if is_over and (was_live or is_woken):
                return None
            if not was_live:
                with suppress(RunLocked):  # another one was faster, and will take it
                    start_background_engine(place)
                if not is_woken:
                    begun, is_woken = time.monotonic(), True
            time.sleep(_POLL_S)
