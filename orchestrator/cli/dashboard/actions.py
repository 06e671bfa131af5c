"""The actions of a dashboard on this machine: send commands, start an engine, open an editor or a shell."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Thread

from orchestrator.cli.run_lookup import has_live_engine
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.run_control.control import send_command
from orchestrator.tui.actions import DashboardActions


def build_dashboard_actions(directory: RunDirectory, where: Sequence[str]) -> DashboardActions:
    """Return the actions of a run; `where` are the options with which other verbs find it.

    They are made before any dashboard is.
    """
    environ = dict(os.environ)  # Textual takes NO_COLOR out of it
    return DashboardActions(
        send_command=partial(send_command, directory),
        wake_engine=partial(_wake_engine, directory, where, environ),
        open_editor=partial(_open_editor, environ),
        open_shell=partial(_open_shell, environ),
    )


def _wake_engine(directory: RunDirectory, where: Sequence[str], environ: Mapping[str, str]) -> None:
    if has_live_engine(directory):
        return
    _run_program(
        # -P: nothing of the directory that we stand in is imported
        [sys.executable, "-P", "-m", "orchestrator", "resume", directory.run, "--detach", *where],
        environ,
        in_background=True,
    )


def _open_editor(environ: Mapping[str, str], path: Path) -> None:
    editor = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")
    _run_program([*editor, str(path)], environ)


def _open_shell(environ: Mapping[str, str], directory: Path) -> None:
    _run_program([environ.get("SHELL") or "/bin/sh"], environ, directory=directory)


def _run_program(
    words: Sequence[str], environ: Mapping[str, str], directory: Path | None = None, *, in_background: bool = False
) -> None:
    try:
        if in_background:
            silent = subprocess.DEVNULL
            process = subprocess.Popen(
                words, stdin=silent, stdout=silent, stderr=silent, start_new_session=True, env=environ
            )
            Thread(target=process.wait, daemon=True).start()  # it would stay a zombie for as long as we live
        else:
            subprocess.run(words, env=environ, cwd=directory, check=False)
    except OSError as error:
        raise EnvironmentProblem(f"{words[0]} cannot be started: {error.strerror}") from error
