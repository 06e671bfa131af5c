"""`orchestrate inbox`, and verbs made from the catalog of commands: approve, deny, pause, continue, retry, …"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.arguments import common_options
from orchestrator.cli.control.delivery import deliver_command, find_commanded_run
from orchestrator.cli.documents import InboxDocument, SentCommand
from orchestrator.cli.output import print_lines, print_object
from orchestrator.domain.commands.catalog import CRITERION_VERBS, GOAL_VERBS
from orchestrator.domain.commands.catalog_entry import CatalogEntry, CommandOption, Target
from orchestrator.domain.commands.goal import find_running_call, find_running_call_of_task
from orchestrator.domain.ids import ROOT_TASK, SessionId, TaskId, parse_effect_name
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.command_builder import build_command, build_criterion
from orchestrator.report.rows.questions import get_question_item
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

    def run_verb(run: str, *, repo: Path, state: str, as_json: bool, no_wake: bool = False, **values: Any) -> None:  # noqa: ANN401
        place, run_state = find_commanded_run(run, repo, state)
        if entry.target in resolvers:
            values = resolvers[entry.target](place, run_state, values)
        wake = {
            "never": False,
            "always": True,
            "unless-declined": not no_wake,
            "if-ended": run_state.ended is not None,
        }[entry.wake]
        deliver_command(place, run_state, build_command(entry, values), wake=wake, as_json=as_json)

    function = common_options(run_verb)
    if entry.wake == "unless-declined":
        function = click.option("--no-wake", is_flag=True, help="Do not start an engine; the next one acts on it.")(
            function
        )
    for option in reversed(entry.options):
        function = _build_option(option)(function)
    if argument := entry.argument:
        function = click.argument(
            argument.name,
            required=argument.is_required,
            nargs=-1 if argument.is_many else 1,
            metavar=argument.metavar or None,
        )(function)
    return click.command(name, help=entry.help_text)(click.argument("run")(function))


def _build_option(option: CommandOption) -> Callable[[Callable[..., None]], Callable[..., None]]:
    names, metavar = (f"--{option.name}", option.field_name), option.metavar or None
    match option.kind:
        case "flag":
            return click.option(*names, is_flag=True, help=option.help)
        case "number":
            return click.option(*names, type=click.IntRange(option.minimum), metavar=metavar, help=option.help)
        case "text" if option.is_required:
            return click.option(*names, required=True, metavar=metavar, help=option.help)
    return click.option(*names, default="", metavar=metavar, help=option.help)


def _resolve_question(place: RunLocation, state: RunState, values: Fields) -> Fields:
    """Find the question that is meant: the only one there is if none is named."""
    item = values["item"]
    if item is None:
        names = [question.approval.item for question in state.pending_approvals]
        if not names:
            raise UsageProblem(f"run {place.directory.run} asks nothing")
        if len(names) > 1:
            raise UsageProblem(f"run {place.directory.run} asks {len(names)} things: name one of {', '.join(names)}")
        item = names[0]
    return values | {"item": get_question_item(state, item)}


def _resolve_subtree(_place: RunLocation, _state: RunState, values: Fields) -> Fields:
    """The root with all below it is the whole run."""
    return values | {"task": None} if values["task"] == ROOT_TASK else values


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
    "subtree": _resolve_subtree,
    "call": _resolve_call,
    "criterion": _resolve_criterion,
}


@click.group("criterion")
def criterion_command() -> None:
    """Change the contract of a run; `orchestrate status RUN` shows it.

    The whole is judged again. A run that has ended keeps the contract it ended with.
    """


for _name, _entry in CRITERION_VERBS.items():
    criterion_command.add_command(build_verb(_name, _entry, RESOLVERS))
COMMANDS: Mapping[str, click.Command] = {name: build_verb(name, entry, RESOLVERS) for name, entry in GOAL_VERBS.items()}


@click.command("inbox")
@click.argument("run", required=False)
@common_options
def inbox_command(run: str | None, repo: Path, state: str, as_json: bool) -> None:
    """Show what RUN asks of a person, and the commands that no engine has taken yet.

    \b
    orchestrate inbox
    """
    place, run_state = find_commanded_run(run, repo, state)
    questions = run_state.pending_approvals
    sent = [command for _, command in place.directory.inbox.iterate_commands()]
    if as_json:
        waiting = tuple(question.approval for question in questions)
        commands = tuple(SentCommand.model_validate(one.model_dump(mode="json")) for one in sent)
        print_object(InboxDocument(run=place.directory.run, waiting=waiting, sent=commands).as_object())
        return
    lines: list[str] = []
    for number, question in enumerate(questions, start=1):
        lines += _format_question(number, question)
    for one in sent:
        lines.append(f"not taken yet: {one.command.do} by {one.by}, {one.at:%Y-%m-%d %H:%M:%S} UTC")
    print_lines(lines or [f"run {place.directory.run} asks nothing"])


def _format_question(number: int, question: ApprovalState) -> Iterator[str]:
    asked = question.approval
    until = ""
    if asked.expires_at:
        until = f" (counts as {asked.default} after {asked.expires_at:%Y-%m-%d %H:%M} UTC)"
    yield f"{number}  {asked.item}  {asked.title}{until}"
    for text in asked.detail:
        yield f"    {text}"
