"""`orchestrate engine`."""

import importlib
import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

import anyio
import click

from orchestrator.app.model_loading import start_loading_models
from orchestrator.app.run_execution import RunExit, resume_run
from orchestrator.cli.arguments import repository_options
from orchestrator.cli.flags import Flags
from orchestrator.cli.output import exit_with, print_message
from orchestrator.cli.run_lookup import locate_named_run
from orchestrator.project.options import Options
from orchestrator.run_control.prepared_engine import PREPARED_RUN, EngineOrders, read_orders

_POLL_S = 0.5
_FIRST_STEPS = (
    "orchestrator.engine.goal.run",
    "orchestrator.codemap.git_codebase",
    "orchestrator.codemap.map_cache",
    "anyio._backends._asyncio",
)
"""The modules that a goal's engine goes on to load before its first planner is asked."""


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
    if run == PREPARED_RUN:
        orders = await_orders()
        if orders is None:
            return
        run, repo, state, parent = orders.run, Path(orders.repository), orders.state, orders.parent
    place = locate_named_run(run, repo, state)
    if parent is not None:
        threading.Thread(target=_stop_after_parent, args=(parent,), daemon=True).start()
    resume = partial(resume_run, Options(place.repo, Flags(state=place.state).values), place.run, may_reopen=False)
    run_exit: RunExit = anyio.run(resume)
    if run_exit.error:
        print_message(f"{type(run_exit.error).__name__}: {run_exit.error}")
    exit_with(run_exit.exit_code)


def await_orders() -> EngineOrders | None:
    """Load what an engine needs, and wait for its run; None if whoever prepared this engine needs none."""
    for module in _FIRST_STEPS:
        importlib.import_module(module)
    while True:
        orders = read_orders(sys.stdin.buffer)
        if orders is None:
            return None
        if orders.loads_models:
            start_loading_models()
        if orders.run:
            _redirect_streams(Path(orders.log))
            return orders


def _redirect_streams(log: Path) -> None:
    """Let what this process prints go to the log of its run, and its standard input be empty."""
    with log.open("ab") as printed, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)


def _stop_after_parent(parent: int) -> None:
    """Send this process a SIGTERM once the process that started it has died."""
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os.kill(os.getpid(), signal.SIGTERM)
