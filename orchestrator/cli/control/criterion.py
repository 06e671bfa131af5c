"""`orchestrate criterion`: a person changes what a run has to reach. Nobody else can, once it has begun."""

from typing import Any

import click

from orchestrator.cli.control.commands import deliver_command, find_commanded_run
from orchestrator.cli.options import json_option, parse_criterion, repository_options
from orchestrator.domain.commands.definitions import AddCriterion, DropCriterion
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.run_control.location import predict_state


@click.group("criterion")
def criterion_command() -> None:
    """Change the contract of a run; `orchestrate status RUN` shows it.

    What was or is being judged of the whole is judged anew. A run that has ended keeps the contract it ended with.
    """


@criterion_command.command("add")
@click.argument("run")
@click.argument("text", default="")
@click.option("--must", default="", metavar="COMMAND", help="What has to exit 0 on the final state.")
@repository_options
@json_option
def add_command(run: str, text: str, must: str, **given: Any) -> None:  # noqa: ANN401
    """Ask RUN for one thing more: TEXT (or `ID: TEXT`), a command, or both.

    \b
    orchestrate criterion add 7f3a "docs: every new option is explained"
    orchestrate criterion add latest --must "python tools/check_docs.py"
    """
    if not text.strip() and not must.strip():
        raise UsageProblem('say what is asked for: "TEXT", --must "COMMAND", or both')
    place, state = find_commanded_run(run, given)
    asked = parse_criterion(text.strip(), _free(predict_state(place, state), "must-" if must.strip() else "c"))
    wanted = Criterion(id=asked["id"], text=asked["text"] or f"`{must.strip()}` exits 0", command=must.strip() or None)
    deliver_command(place, state, AddCriterion(criterion=wanted), wake=False, as_json=given["as_json"])


@criterion_command.command("drop")
@click.argument("run")
@click.argument("name", metavar="ID")
@click.option("--reason", default="", help="Why; it is kept.")
@repository_options
@json_option
def drop_command(run: str, name: str, reason: str, **given: Any) -> None:  # noqa: ANN401
    """Ask RUN no longer for the criterion ID.

    \b
    orchestrate criterion drop 7f3a docs --reason "the manual is rewritten elsewhere"
    """
    place, state = find_commanded_run(run, given)
    deliver_command(place, state, DropCriterion(id=name, reason=reason), wake=False, as_json=given["as_json"])


def _free(state: RunState, prefix: str) -> str:
    """The first id of its kind that nothing has: `c3` after `c1` and `c2`, `must-2` after `must-1`."""
    if state.contract:
        taken = state.contract.ids
    else:
        taken = frozenset()
    return next(name for number in range(1, len(taken) + 2) if (name := f"{prefix}{number}") not in taken)
