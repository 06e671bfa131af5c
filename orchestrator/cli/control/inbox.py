"""`orchestrate inbox`."""

from collections.abc import Iterator
from pathlib import Path

import click

from orchestrator.cli.control.delivery import find_commanded_run
from orchestrator.cli.documents import InboxDocument, SentCommand
from orchestrator.cli.options import common_options
from orchestrator.cli.output import print_lines, print_object
from orchestrator.domain.run.approval import ApprovalState


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
