"""`orchestrate engine`."""

from functools import partial
from pathlib import Path

import anyio
import click

from orchestrator.app.options import Options
from orchestrator.app.verbs import Ended, resume
from orchestrator.cli.options import in_repository
from orchestrator.cli.output import say
from orchestrator.cli.running import exit_with


@click.command("engine")
@click.argument("run")
@in_repository
def command(run: str, repo: Path, state: str) -> None:
    """Work on RUN in this process, without a terminal: what `run` and `resume` start in the background.

    For service managers and containers: SIGTERM stops it after a checkpoint, `orchestrate resume` goes on.

    \b
    orchestrate engine 7f3a
    """
    flags = {"state": {"dir": state}} if state else {}
    ended: Ended = anyio.run(partial(resume, Options(repo, flags), run))
    if ended.error:
        say(f"{type(ended.error).__name__}: {ended.error}")
    exit_with(ended.exit_code)
