"""`orchestrate ci publish`."""

import os
from pathlib import Path
from typing import Unpack

import anyio
import click

from orchestrator.ci.job_outputs import write_outputs
from orchestrator.ci_jobs.publish import PublishedRun, PublishRequest, publish_run
from orchestrator.cli.flags import build_options
from orchestrator.cli.options import DIRECTORY, VerbArguments, config_options, json_option, repository_options
from orchestrator.cli.output import exit_with, print_document
from orchestrator.domain.text.sanitization import to_one_line


@click.command("publish")
@click.argument("directory", type=DIRECTORY, metavar="DIR")
@repository_options
@click.option("--remote", metavar="NAME", default="origin", help="Where the state lies between jobs, and the branches.")
@click.option("--issue", type=click.IntRange(1), metavar="N", help="The issue to tell, in one comment that is kept.")
@click.option("--merge-request", "by_push", is_flag=True, help="Let the push open merge requests, as GitLab can.")
@click.option("--outputs", metavar="FILE", default="", help="Write NAME=VALUE lines there, as to $GITHUB_OUTPUT.")
@config_options
@json_option
def publish_command(
    directory: Path, remote: str, issue: int | None, by_push: bool, outputs: str, **given: Unpack[VerbArguments]
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
    return [*lines, *(["the next job goes on"] if end.is_resumable else [])]
