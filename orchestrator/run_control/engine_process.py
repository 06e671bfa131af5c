"""Start an engine in a process of its own, which outlives whoever started it."""

import os
import subprocess
import sys

from orchestrator.errors import EnvironmentProblem
from orchestrator.run_control.location import RunLocation


def start_engine(location: RunLocation, *, outlives_us: bool = True) -> "subprocess.Popen[bytes]":
    """Start a process that works on the run; it belongs to no terminal, and what it prints goes to the run's log.

    Unless it `outlives_us` it stops when this process is gone, however that came.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    words = [
        "engine",
        location.directory.run,
        "--repo",
        str(location.repository.root),
        "--state",
        str(location.state.path.parent),
        *(() if outlives_us else ("--while", str(os.getpid()))),
    ]
    try:
        with location.directory.engine_log.open("ab") as log:
            return subprocess.Popen(
                # -P: nothing of the directory that we stand in is imported
                [sys.executable, "-P", "-m", "orchestrator", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
            )
    except OSError as error:
        raise EnvironmentProblem(
            f"no engine could be started: cannot write {error.filename}: {error.strerror}; make the state directory "
            "writable, or choose another with --state DIR"
        ) from error
