"""`orchestrate ci run`."""

import os
from pathlib import Path
from typing import Unpack

import click
from pydantic import TypeAdapter

from orchestrator.ci.lease import get_job_name
from orchestrator.ci_jobs.job import JobRequest
from orchestrator.cli import arguments
from orchestrator.cli.ci.job import run_ci_job
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import exit_with

_MIN_BEATS = 2


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
    orchestrate ci run "add OAuth login" --key issue-12 --gate "python -m pytest -q" --time-limit 5h30m
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
