"""`orchestrate ci answer`."""

from pathlib import Path

import anyio
import click

from orchestrator.ci_jobs.handover import import_run_of_key, select_waiting_item
from orchestrator.cli.control.delivery import deliver_command
from orchestrator.cli.flags import Flags
from orchestrator.cli.options import common_options
from orchestrator.domain.commands.definitions import Approve, Deny
from orchestrator.project.options import Options


@click.command("answer")
@click.argument("words", nargs=-1, required=True, metavar="approve|deny [ITEM]")
@click.option("--key", required=True, metavar="KEY", help="Of the jobs that carry the run on.")
@click.option("--reason", default="", help="Why; it is kept, and shown to whoever it concerns.")
@common_options
def answer_command(words: tuple[str, ...], key: str, reason: str, repo: Path, state: str, as_json: bool) -> None:
    """Answer what the run of KEY asks, from what was fetched into this clone; `ci run` then goes on with the answer.

    ITEM is a name or a number as `orchestrate inbox` lists them; it may be left out where only one thing is asked.

    \b
    orchestrate ci answer --key issue-12 approve
    orchestrate ci answer --key issue-12 deny 2 --reason "leave the parser alone"
    """
    verb, *rest = " ".join(words).split()
    if verb not in {"approve", "deny"} or len(rest) > 1:
        raise click.UsageError("say approve or deny, and at most one ITEM")
    location, run_state = anyio.run(import_run_of_key, Options(repo, Flags(state=state).values), key)
    item = select_waiting_item(run_state, rest[0] if rest else "")
    answer = Approve(item=item, reason=reason) if verb == "approve" else Deny(item=item, reason=reason)
    deliver_command(location, run_state, answer, wake=False, as_json=as_json)
