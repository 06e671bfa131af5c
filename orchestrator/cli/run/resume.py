"""`orchestrate resume`."""

from functools import partial
from typing import Unpack

import click

from orchestrator.cli.flags import build_rerun_options
from orchestrator.cli.options import VerbArguments, json_option, repository_options, resume_options
from orchestrator.cli.run_lifecycle import run_with_engine
from orchestrator.run_control.location import prepare_resume


@click.command("resume")
@click.argument("run", required=False)
@repository_options
@resume_options
@json_option
def resume_command(run: str | None, **given: Unpack[VerbArguments]) -> None:
    """Go on with RUN (the latest if not named) from wherever it stopped, also after kill -9.

    Nothing recorded is lost and nothing lands twice. A model call that was under way is made again.

    \b
    orchestrate resume
    orchestrate resume 7f3a --budget-usd 20
    """
    run_with_engine(partial(prepare_resume, build_rerun_options(given), run), given)
