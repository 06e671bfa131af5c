"""`orchestrate watch --web`: the dashboard in a browser on this machine."""

import shlex
import sys
from collections.abc import Sequence

import click

from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.locations.run_directory import RunDirectory


def serve_dashboard(directory: RunDirectory, where: Sequence[str], port: int, *, can_act: bool) -> None:
    """Serve dashboards of a run until Ctrl-C.

    Args:
        directory: the run.
        where: the options with which other verbs find it, from any directory.
        port: on loopback; 0 for any that is free.
        can_act: whether keys do anything to the run.

    Raises:
        EnvironmentProblem: textual-serve is not installed, or the port is taken.
    """
    try:
        from orchestrator.tui.web.server import DashboardServer, open_loopback_socket
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(
            f"a browser needs {error.name}: install Orchestrate with its extra `web`, "
            "in a clone of it by: pip install '.[web]'"
        ) from error
    read_only = () if can_act else ("--read-only",)
    words = [sys.executable, "-P", "-m", "orchestrator", "watch", directory.run, *read_only, *where]
    dashboards = DashboardServer(shlex.join(words), f"orchestrate {directory.run}")
    try:
        listening = open_loopback_socket(port)
    except OSError as error:
        raise EnvironmentProblem(f"port {port} cannot be used: {error.strerror}; name another with --port") from error
    host, taken = listening.getsockname()[:2]
    click.echo(f"http://{host}:{taken}/?token={dashboards.token}")
    click.echo(
        f"{'keys act on the run' if can_act else 'read-only'}; whoever has this address sees the run. Ctrl-C ends it.\n"
        f"From another machine, through a tunnel of your own: ssh -L {taken}:{host}:{taken} THIS-MACHINE",
        err=True,
    )
    sys.stdout.flush()
    dashboards.run(listening)
