"""`orchestrate ci run`, and the steps of a workflow around it: `ci answer`, `event` and `publish`."""

import os
from pathlib import Path
from typing import Any, Unpack

import anyio
import click
from pydantic import TypeAdapter

from orchestrator.ci.forge_event import JobDefaults, JobOrder, parse_event
from orchestrator.ci.job_outputs import write_outputs
from orchestrator.ci.lease import get_job_name
from orchestrator.ci_jobs.handover import import_run_of_key, select_waiting_item
from orchestrator.ci_jobs.job import JobRequest
from orchestrator.ci_jobs.publish import PublishedRun, PublishRequest, publish_run
from orchestrator.cli import arguments
from orchestrator.cli.ci.job import run_ci_job
from orchestrator.cli.control.delivery import deliver_command
from orchestrator.cli.documents import CiEventDocument
from orchestrator.cli.flags import Flags, build_options
from orchestrator.cli.output import exit_with, print_document, print_lines, print_object
from orchestrator.domain.commands.catalog import GOAL_VERBS, OLD_VERBS
from orchestrator.domain.ids import is_question_name
from orchestrator.domain.text.encoding import decode_json
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem
from orchestrator.project.options import Options
from orchestrator.report.command_builder import build_command

_MIN_BEATS = 2
_GOAL_CHARS = 200


class _JobArguments(arguments.VerbArguments):
    """The values of the options of `ci run`."""

    key: str
    wanted: str
    recipe: Path | None
    remote: str
    handover: Path | None
    save_every: float
    stale_after: float
    max_hops: int | None
    is_anew: bool


@click.command("run")
@click.argument("goal", required=False)
@arguments.repository_options
@click.option("--key", metavar="KEY", default="", help="What the jobs of one run have in common, such as issue-12.")
@click.option("--resume", "wanted", metavar="RUN", default="", help="Go on with this run, also where KEY is not named.")
@click.option(
    "--recipe", type=arguments.FILE, metavar="FILE", help="Begin a migration by this recipe instead of a GOAL."
)
@click.option(
    "--remote", metavar="NAME", default="origin", help="Where the state lies between jobs, and the PR branch."
)
@click.option(
    "--handover",
    type=arguments.DIRECTORY,
    metavar="DIR",
    help="Reach no remote: go on from refs/orchestrate/* of this clone, and leave the state in DIR for `ci publish`.",
)
@click.option(
    "--save-every", type=arguments.Duration(), default="5m", help="Leave the state after this time, and each landing."
)
@click.option(
    "--stale-after", type=arguments.Duration(), default="15m", help="Take the place of a job not heard of for so long."
)
@click.option(
    "--max-hops", type=click.IntRange(1), metavar="N", help="Jobs in all that may work on the run; 20 at first."
)
@click.option("--restart", "is_anew", is_flag=True, help="Begin anew, whatever the key's last run was.")
@arguments.goal_options
@arguments.add_role_options(
    "As for `orchestrate run`.", "Attempts that run at the same time.", "Hard stop for the cost of all jobs together."
)
@arguments.run_options
def run_command(goal: str | None, **given: Unpack[_JobArguments]) -> None:
    """Begin to carry GOAL to a PR branch (`-` reads it from standard input), or go on with it: one job of a CI system.

    KEY decides. If an earlier job has left a run under it at the remote, this one goes on with that, whatever became of
    that job; else it begins. A run that has ended is only told of again. The options may be the same for each job:
    --time-limit is of this job, --budget-usd of all together.

    Outputs go to $GITHUB_OUTPUT (status, run_id, key, prs, cost_usd, resumable, hop, exit) and a summary to
    $GITHUB_STEP_SUMMARY. `resumable=true`: the time was over, start another job with the same key.

    \b
    orchestrate ci run "add OAuth login" --key issue-12 --gate "python3 -m pytest -q" --time-limit 5h30m
    orchestrate ci run --key issue-12 --time-limit 5h30m
    orchestrate ci run --key weekly --recipe recipes/pyupgrade.toml --restart --json

    \b
    Exit codes: those of `orchestrate run`; 5 limit reached (of time, money or jobs), 8 another job works on the run.
    0 always comes with a pull request, or with evidence that nothing had to change.
    """
    goal = arguments.read_goal(goal or "")
    if goal and given["recipe"]:
        raise click.UsageError("a GOAL and --recipe exclude each other")
    if not (given["key"] or given["wanted"]):
        raise click.UsageError("name what the jobs of this run have in common with --key, such as --key issue-12")
    if given["stale_after"] < _MIN_BEATS:
        raise click.UsageError(f"--stale-after: at least {_MIN_BEATS} s, or a job that lives could seem dead")
    request = _build_job_request(goal, given)
    given["time_limit"] = None  # it is this job's, not the run's as elsewhere
    exit_with(run_ci_job(build_options(given), request, given["save_every"], given["as_json"]))


def _build_job_request(goal: str, given: _JobArguments) -> JobRequest:
    handover = given["handover"]
    places = {"handover": handover, "remote": ""} if handover else {"handover": Path()}
    limits = {"limit_s": given["time_limit"], "stale_s": given["stale_after"]}
    values = {**given, "goal": goal, "holder": get_job_name(os.environ), **places, **limits}
    return TypeAdapter(JobRequest).validate_python(values)


@click.command("answer")
@click.argument("words", nargs=-1, required=True, metavar="approve|send-back|reject [QUESTION]")
@click.option("--key", required=True, metavar="KEY", help="Of the jobs that carry the run on.")
@click.option("--reason", "--note", "note", default="", help="Why, or what is to be changed; it goes to whoever asked.")
@arguments.common_options
def answer_command(words: tuple[str, ...], key: str, note: str, repo: Path, state: str, as_json: bool) -> None:
    """Answer what the run of KEY asks, from what was fetched into this clone; `ci run` then goes on with the answer.

    QUESTION is an id or an item as `orchestrate inbox` lists them; it may be left out where only one thing is asked.

    \b
    orchestrate ci answer --key issue-12 approve
    orchestrate ci answer --key issue-12 send-back q2 --note "keep the old file format"
    orchestrate ci answer --key issue-12 reject q2 --reason "leave the parser alone"
    """
    verb, _, rest = " ".join(words).strip().partition(" ")
    verb = OLD_VERBS.get(verb, verb)
    entry = GOAL_VERBS.get(verb)
    if entry is None or not entry.is_answer:
        raise click.UsageError("say approve, send-back or reject, and at most one QUESTION")
    question, said = _split_question_and_note(rest.strip())
    if said and verb == "approve":
        raise click.UsageError(f"{said!r} stands behind the QUESTION: give a reason with --reason")
    location, run_state = anyio.run(import_run_of_key, Options(repo, Flags(state=state).values), key)
    item = select_waiting_item(run_state, question)
    answer = build_command(entry, {"item": item, entry.note_option: note or said})
    deliver_command(location, run_state, answer, wake=False, as_json=as_json)


def _split_question_and_note(text: str) -> tuple[str, str]:
    """Return the question that the words after the verb begin with, empty if with none, and the other words."""
    first, _, rest = text.partition(" ")
    if is_question_name(first) or first.isdecimal():
        return first, rest.strip()
    return "", text


@click.command("event")
@click.option("--goal-file", type=arguments.FILE, help="Where the goal goes; empty if there is none.")
@click.option(
    "--time-limit", type=arguments.Duration(), default="5h30m", metavar="5h30m", help="The most that a job may work."
)
@click.option("--budget-usd", default="", metavar="USD", help="What a run may cost where the event does not say.")
@arguments.json_option
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


@click.command("publish")
@click.argument("directory", type=arguments.DIRECTORY, metavar="DIR")
@arguments.repository_options
@click.option("--remote", metavar="NAME", default="origin", help="Where the state lies between jobs, and the branches.")
@click.option("--issue", type=click.IntRange(1), metavar="N", help="The issue to tell, in one comment that is kept.")
@click.option("--merge-request", "by_push", is_flag=True, help="Let the push open merge requests, as GitLab can.")
@click.option("--outputs", metavar="FILE", default="", help="Write NAME=VALUE lines there, as to $GITHUB_OUTPUT.")
@arguments.config_options
@arguments.json_option
def publish_command(
    directory: Path,
    remote: str,
    issue: int | None,
    by_push: bool,
    outputs: str,
    **given: Unpack[arguments.VerbArguments],
) -> None:
    """Publish what `orchestrate ci run --handover DIR` left: the state for the next job, branches, pull requests.

    The first job has the model's key and may only read; this one may write, and calls no model. What it finds in DIR it
    verifies; branches only move forward. Leaves with the run's exit code, but with 0 if the next job goes on by itself.

    \b
    ORCHESTRATE__PR__FORGE=github orchestrate ci publish handover --issue 12
    orchestrate ci publish handover --merge-request --outputs published.env
    """
    published = anyio.run(publish_run, build_options(given), PublishRequest(directory, remote, issue, by_push))
    write_outputs(os.environ, published.build_outputs())
    write_outputs({"GITHUB_OUTPUT": outputs}, published.build_outputs())
    print_document(published.build_document(), _render_published(published), given["as_json"])
    exit_with(published.exit_code)


def _render_published(published: PublishedRun) -> list[str]:
    end = published.end
    lines = [f"{to_one_line(end.status)} (job {end.hop} of at most {end.max_hops}): {to_one_line(end.reason)}"]
    lines += [f"pull request: {pr.url or pr.ref}" for pr in published.pull_requests]
    return lines + ["the next job goes on"] * end.is_resumable
