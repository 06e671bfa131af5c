"""`orchestrate migrate check`."""

import os
from pathlib import Path
from typing import Unpack

import anyio
import click

from orchestrator import __version__
from orchestrator.cli import arguments
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import exit_with, format_json, print_document, print_message, write_report_file
from orchestrator.cli.run_lifecycle import print_failure_as_json
from orchestrator.discovery.site_check import SiteCheckRequest, check_sites
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import load_recipe, locate_problems
from orchestrator.migrate.site_check import build_site_report
from orchestrator.report.documents.sarif import build_site_check_sarif
from orchestrator.report.migration.site_check import render_github_annotations, render_site_check_lines

_TOO_MANY = 3


class _CheckArguments(arguments.VerbArguments):
    """The values of the options of `migrate check`."""

    max_sites: int | None
    ref: str
    since: str
    sarif_file: Path | None


@click.command("check")
@click.argument("recipe", type=arguments.FILE)
@click.option("--max-sites", type=click.IntRange(min=0), metavar="N", help="For all sites together; else each target.")
@click.option("--ref", default="", metavar="REV", help="The commit to look at; what is checked out if not given.")
@click.option("--since", default="", metavar="REV", help="Tell which sites this commit did not have.")
@click.option(
    "--sarif",
    "sarif_file",
    type=arguments.FILE_OR_STDOUT,
    metavar="FILE",
    help="Write the sites for a code scanning service; - is standard output.",
)
@arguments.repository_options
@arguments.read_only_option
@arguments.config_options
@arguments.json_option
def check_command(recipe: Path, **given: Unpack[_CheckArguments]) -> None:
    """Fail if the commit has more sites of RECIPE than allowed: a ratchet for CI. Needs no run and keeps none.

    \b
    orchestrate migrate check recipes/pytest.toml
    orchestrate migrate check recipes/pytest.toml --max-sites 120 --since origin/main

    \b
    Exit codes: 0 it holds, 3 there are more sites than allowed, 2 wrong recipe or commit, 7 environment.
    """
    to_stdout = given["sarif_file"] == Path("-")
    if to_stdout and given["as_json"]:
        raise UsageProblem("--json and --sarif - both go to standard output: name a file for one of them")
    with print_failure_as_json(given["as_json"]), locate_problems(recipe):
        loaded = load_recipe(recipe)
        question = SiteCheckRequest(loaded, given["ref"], given["since"], given["max_sites"])
        verdict = anyio.run(check_sites, build_options(given), question)
    report = build_site_report(loaded, verdict, given["since"])
    if given["sarif_file"] is not None:
        log = build_site_check_sarif(report, __version__).as_object()
        write_report_file(given["sarif_file"], format_json(log, indent=1) + "\n")
    if not to_stdout:
        print_document(report, render_site_check_lines(report), given["as_json"])
    if os.environ.get("GITHUB_ACTIONS"):
        for line in render_github_annotations(report):
            print_message(line)
    exit_with(0 if verdict.is_within_limits else _TOO_MANY)
