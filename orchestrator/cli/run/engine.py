"""`orchestrate engine`."""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import anyio
import click

from orchestrator.app.run_execution import RunExit, resume_run
from orchestrator.cli.arguments import repository_options
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import exit_with, print_message
from orchestrator.project.options import Options

_POLL_S = 0.5


@click.command("engine")
@click.argument("run")
@repository_options
@click.option("--while", "parent", type=int, hidden=True, help="Stop when this process, which started us, is gone.")
def engine_command(run: str, repo: Path, state: str, parent: int | None) -> None:
    """Work on RUN in this process, without a terminal: what `run` and `resume` start in the background.

    For service managers and containers: SIGTERM stops it after a checkpoint, `orchestrate resume` goes on.

    \b
    orchestrate engine 7f3a
    """
    if parent is not None:
        threading.Thread(target=_stop_after_parent, args=(parent,), daemon=True).start()
    resume = partial(resume_run, Options(repo, Flags(state=state).values), run, may_reopen=False)
    run_exit: RunExit = anyio.run(resume)
    if run_exit.error:
        print_message(f"{type(run_exit.error).__name__}: {run_exit.error}")
    exit_with(run_exit.exit_code)


def _stop_after_parent(parent: int) -> None:
    """Send this process a SIGTERM once the process that started it has died."""
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
