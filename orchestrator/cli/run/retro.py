"""`orchestrate retro`."""

from pathlib import Path
from typing import Unpack

import anyio
import click

from orchestrator.cli.arguments import (
    DIRECTORY,
    DollarLimit,
    VerbArguments,
    config_options,
    json_option,
    read_only_option,
    repository_options,
)
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import exit_with, print_document, print_message
from orchestrator.cli.run_lifecycle import print_failure_as_json
from orchestrator.discovery.judged_runs import DEFAULT_RUNS
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.text.listing import format_count
from orchestrator.errors import UsageProblem
from orchestrator.project.options import Options
from orchestrator.retro.report import build_retro_document
from orchestrator.retro.report_text import render_retrospective
from orchestrator.scratch_runs.retro import RetroOptions, look_back


@click.command("retro")
@repository_options
@click.option("--runs", "count", type=click.IntRange(1, 1000), metavar="N", help="How many of the latest runs to read.")
@click.option("--run", "wanted", multiple=True, metavar="RUN", help="Read this run; may be repeated.")
@click.option("--no-model", is_flag=True, help="Only say what was found: propose and try nothing, ask no model.")
@click.option("--budget-usd", type=DollarLimit(), metavar="USD", help="Hard stop for what proposing and trying cost.")
@click.option(
    "--out", type=DIRECTORY, metavar="DIR", help="Write the diffs and confirmed prompts into this new directory."
)
@read_only_option
@config_options
@json_option
def retro_command(
    *, count: int | None, wanted: tuple[str, ...], no_model: bool, out: Path | None, **given: Unpack[VerbArguments]
) -> None:
    """Find which prompts and variants keep leading to work that is sent back, and what would mend them.

    Reads the journals of the latest runs. For each weakness the judge's model proposes a change of the prompt, and the
    decisions that were sent back are asked again with it, together with as many that stood. You see the diff, the
    evidence and what the trial showed. Nothing changes by itself.

    \b
    orchestrate retro
    orchestrate retro --runs 30 --no-model
    orchestrate retro --run 7f3a --run 81c2 --budget-usd 2 --out ~/retro

    \b
    Exit codes: 0 nothing found, 1 something is, 2 usage, 5 the budget is spent, 7 environment.
    """
    if count is not None and wanted:
        raise UsageProblem("--runs counts the latest runs, --run names them: give one of the two")
    retro_options = RetroOptions(wanted, count or DEFAULT_RUNS, not no_model, out)
    exit_with(_look_back_and_print(build_options(given), retro_options, given["as_json"]))


def _look_back_and_print(options: Options, retro_options: RetroOptions, as_json: bool) -> int:
    with print_failure_as_json(as_json):
        retro = anyio.run(look_back, options, retro_options, _print_estimate)
    print_document(build_retro_document(retro), render_retrospective(retro), as_json)
    return retro.exit_code


def _print_estimate(estimate: Usage, calls: int) -> None:
    cost = f"about {estimate.cost_text}, {estimate.tokens:,} tokens"
    print_message(f"proposing, and asking {format_count(calls, 'recorded call')} again: {cost}")
