"""`orchestrate ci event`."""

import os
from pathlib import Path
from typing import Any

import click

from orchestrator.ci.forge_event import JobDefaults, JobOrder, parse_event
from orchestrator.ci.job_outputs import write_outputs
from orchestrator.cli.documents import CiEventDocument
from orchestrator.cli.options import FILE, Duration, json_option
from orchestrator.cli.output import print_lines, print_object
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem

_GOAL_CHARS = 200


@click.command("event")
@click.option("--goal-file", type=FILE, help="Where the goal goes; empty if there is none.")
@click.option("--time-limit", type=Duration(), default="5h30m", metavar="5h30m", help="The most that a job may work.")
@click.option("--budget-usd", default="", metavar="USD", help="What a run may cost where the event does not say.")
@json_option
def event_command(goal_file: Path | None, time_limit: float, budget_usd: str, as_json: bool) -> None:
    """Tell what the event of this job asks for: a goal, a run to go on with, an answer. For GitHub workflows.

    The event is read from $GITHUB_EVENT_PATH, so nobody's words become part of a script. Outputs go to $GITHUB_OUTPUT
    (key, run, answer, issue, budget_usd, time_limit, dry_run, restart), the goal into a file, for `ci run - < FILE`.

    \b
    orchestrate ci event --goal-file "$RUNNER_TEMP/goal.txt" --time-limit 5h30m
    """
    usual = JobDefaults(int(time_limit), budget_usd, os.environ.get("GOAL_OF_SCHEDULE", ""))
    job = os.environ.get("GITHUB_RUN_ID", "0")
    order = parse_event(os.environ.get("GITHUB_EVENT_NAME", ""), _read_payload(), job, usual)
    if goal_file:
        goal_file.write_text(order.goal, encoding="utf-8")
    is_again = os.environ.get("GITHUB_RUN_ATTEMPT", "1") != "1"
    outputs = order.build_outputs(is_again=is_again)
    write_outputs(os.environ, outputs)
    if as_json:
        print_object(CiEventDocument.model_validate({"goal": order.goal, **outputs}).as_object())
    else:
        print_lines(_render_order(order))


def _read_payload() -> dict[str, Any]:
    path = os.environ.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise EnvironmentProblem("there is no event: $GITHUB_EVENT_PATH is not set, as GitHub sets it for its jobs")
    try:
        found = decode_json(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"{path} cannot be read as an event: {error}") from error
    return found if isinstance(found, dict) else {}


def _render_order(order: JobOrder) -> list[str]:
    """Return lines for a log in which GitHub takes `::` at the beginning, and `##[` anywhere, for a command."""
    goal = to_one_line(order.goal, _GOAL_CHARS).replace("##[", "## [")
    subject = order.answer or (f"goal: {goal}" if goal else f"go on with {order.run or order.key}")
    return [subject, f"key {order.key or '(that of the run)'}, {order.time_limit_s} s"]
