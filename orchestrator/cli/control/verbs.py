"""`orchestrate inbox`, and verbs made from the catalog of commands: approve, send-back, reject, pause, …"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.arguments import common_options, read_goal
from orchestrator.cli.control.delivery import deliver_command, find_commanded_run
from orchestrator.cli.control.plan_answer import read_edited_plan
from orchestrator.cli.documents import InboxDocument, SentCommand, WaitingQuestion
from orchestrator.cli.output import print_lines, print_object
from orchestrator.domain.commands.answers import suggest_edit
from orchestrator.domain.commands.catalog import CRITERION_VERBS, GOAL_VERBS
from orchestrator.domain.commands.catalog_entry import CatalogEntry, CommandArgument, CommandOption, Target
from orchestrator.domain.commands.goal import find_running_call, find_running_call_of_task
from orchestrator.domain.ids import (
    ROOT_TASK,
    RUN_SUFFIX_CHARS,
    SessionId,
    TaskId,
    is_question_name,
    parse_effect_name,
)
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.command_builder import build_command, build_criterion, parse_comments
from orchestrator.report.rows.questions import get_only_question_item, get_question_item
from orchestrator.run_control.control import RunLocation, predict_state

Fields = dict[str, Any]
TargetResolver = Callable[[RunLocation, RunState, Fields], Fields]
"""A function that returns the fields of a command for the values of its verb. It raises UsageProblem."""


def build_verb(name: str, entry: CatalogEntry, resolvers: Mapping[Target, TargetResolver]) -> click.Command:
    """Return the click command of a row of the catalog.

    Args:
        name: its last word on the command line.
        entry: the row.
        resolvers: what finds out what the words of the command line mean, by the kind of target; not for targets that
            mean what they say.
    """

    def run_verb(
        run: str | None,
        *,
        repo: Path,
        state: str,
        as_json: bool,
        no_wake: bool = False,
        **values: Any,  # noqa: ANN401
    ) -> None:
        if entry.is_answer:
            run, values["item"] = _split_run_and_question(run, values["item"])
        place, run_state = find_commanded_run(run, repo, state)
        if entry.target in resolvers:
            values = resolvers[entry.target](place, run_state, values)
        wake = _is_engine_wanted(entry, no_wake, run_state)
        deliver_command(place, run_state, build_command(entry, values), wake=wake, as_json=as_json)

    function = common_options(run_verb)
    if entry.wake == "unless-declined":
        function = click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")(
            function
        )
    for option in reversed(entry.options):
        function = _build_option(option)(function)
    if entry.words is not None:
        function = _build_argument(entry.words)(function)
    if entry.argument is not None:
        function = _build_argument(entry.argument)(function)
    return click.command(name, help=entry.help_text)(click.argument("run", required=not entry.is_answer)(function))


def _is_engine_wanted(entry: CatalogEntry, no_wake: bool, state: RunState) -> bool:
    """Return True if an engine is to be started for a command where none lives."""
    match entry.wake:
        case "always":
            return True
        case "unless-declined":
            return not no_wake
        case "if-ended":
            return state.ended is not None
    return False


def _build_argument(argument: CommandArgument) -> Callable[[Callable[..., None]], Callable[..., None]]:
    count, metavar = -1 if argument.is_many else 1, argument.metavar or None
    return click.argument(argument.name, required=argument.is_required, nargs=count, metavar=metavar)


def _split_run_and_question(run: str | None, item: str | None) -> tuple[str | None, str | None]:
    """Return the run and the question of a command line; a first word that can only be a question leaves out the run.

    Raises:
        UsageProblem: the first word is a question, and there is a second one.
    """
    if run is None or not (is_question_name(run) or (run.isdecimal() and len(run) < RUN_SUFFIX_CHARS)):
        return run, item
    if item is not None:
        raise UsageProblem(f"{run!r} names a question, and so does {item!r}: write RUN first, then one question")
    return None, run


def _build_option(option: CommandOption) -> Callable[[Callable[..., None]], Callable[..., None]]:
    names, metavar = (f"--{option.name}", option.field_name), option.metavar or None
    match option.kind:
        case "texts":
            return click.option(*names, multiple=True, metavar=metavar, help=option.help)
        case "flag":
            return click.option(*names, is_flag=True, help=option.help)
        case "number":
            return click.option(*names, type=click.IntRange(option.minimum), metavar=metavar, help=option.help)
        case "text" if option.is_required:
            return click.option(*names, required=True, metavar=metavar, help=option.help)
    return click.option(*names, default="", metavar=metavar, help=option.help)


def _resolve_question(place: RunLocation, state: RunState, values: Fields) -> Fields:
    """Find the question that is meant: the only one there is if none is named."""
    name, state = values["item"], predict_state(place, state)
    item = get_only_question_item(state) if name is None else get_question_item(state, name)
    if "comments" in values:
        return values | {"item": item, "comments": parse_comments(values["comments"])}
    return values | {"item": item}


def _resolve_approval(place: RunLocation, state: RunState, values: Fields) -> Fields:
    """Find the question that is meant, and the plan that a person gives in the place of the one that waits."""
    item = _resolve_question(place, state, {"item": values["item"]})["item"]
    plan = read_edited_plan(predict_state(place, state), item, in_editor=values["edit"], file=values["plan"])
    return {"item": item, "reason": values["reason"], "plan": plan}


def _resolve_subtree(_place: RunLocation, _state: RunState, values: Fields) -> Fields:
    """The root with all below it is the whole run."""
    return values | {"task": None} if values["task"] == ROOT_TASK else values


def _resolve_words(_place: RunLocation, _state: RunState, values: Fields) -> Fields:
    """Read the words that `-` stands for."""
    return values | {"note": read_goal(values["note"])}


def _resolve_call(_place: RunLocation, state: RunState, values: Fields) -> Fields:
    """Find the call that a task or a conversation waits for."""
    name = values["task"]
    if name not in state.tasks and name not in state.sessions:
        raise UsageProblem(f"there is no task or conversation {name!r} in this run")
    call = find_running_call(state, SessionId(name)) or find_running_call_of_task(state, TaskId(name))
    if call is None:
        raise UsageProblem(f"{name} is using no tool now: there is nothing to stop")
    return {"session": call.session, "call": parse_effect_name(call.key), "reason": values["reason"]}


def _resolve_criterion(place: RunLocation, state: RunState, values: Fields) -> Fields:
    contract = predict_state(place, state).goal.contract
    return {"criterion": build_criterion(contract, values["text"] or "", values["must"])}


RESOLVERS: Mapping[Target, TargetResolver] = {
    "question": _resolve_question,
    "question-to-approve": _resolve_approval,
    "subtree": _resolve_subtree,
    "listener": _resolve_words,
    "call": _resolve_call,
    "criterion": _resolve_criterion,
}


@click.group("criterion")
def criterion_command() -> None:
    """Change the contract of a run; `orchestrate status RUN` shows it.

    The whole is judged again. A run that has ended keeps the contract it ended with, unless its work
    could not be judged.
    """


for _name, _entry in CRITERION_VERBS.items():
    criterion_command.add_command(build_verb(_name, _entry, RESOLVERS))
COMMANDS: Mapping[str, click.Command] = {name: build_verb(name, entry, RESOLVERS) for name, entry in GOAL_VERBS.items()}


@click.command("inbox")
@click.argument("run", required=False)
@click.option("--all", "is_of_all", is_flag=True, help="What the runs of all repositories ask.")
@common_options
def inbox_command(run: str | None, repo: Path, state: str, is_of_all: bool, as_json: bool) -> None:
    """Show what RUN asks of a person, and the commands that no engine has taken yet.

    \b
    orchestrate inbox
    orchestrate inbox --all
    """
    if is_of_all:
        if run is not None:
            raise UsageProblem("--all shows the questions of all runs: leave out RUN")
        from orchestrator.cli.inspect.runs import print_waiting_runs

        print_waiting_runs(state, as_json)
        return
    place, run_state = find_commanded_run(run, repo, state)
    questions = run_state.pending_approvals
    sent = [command for _, command in place.directory.inbox.iterate_commands()]
    if as_json:
        waiting = tuple(WaitingQuestion(id=str(one.id), **dict(one.approval)) for one in questions)
        commands = tuple(SentCommand.model_validate(one.model_dump(mode="json")) for one in sent)
        print_object(InboxDocument(run=place.directory.run, waiting=waiting, sent=commands).as_object())
        return
    lines: list[str] = []
    for question in questions:
        lines += _format_question(question)
        if question.approval.plan is not None:
            lines.append(f"    {suggest_edit(place.directory.run, question)}")
    for one in sent:
        lines.append(f"not taken yet: {one.command.do} by {one.by}, {one.at:%Y-%m-%d %H:%M:%S} UTC")
    print_lines(lines or [f"run {place.directory.run} asks nothing"])


def _format_question(question: ApprovalState) -> Iterator[str]:
    asked = question.approval
    until = ""
    if asked.expires_at:
        until = f" (counts as {asked.default} after {asked.expires_at:%Y-%m-%d %H:%M} UTC)"
    yield f"{question.id}  {asked.item}  {asked.title}{until}"
    for text in asked.detail:
        yield f"    {text}"
