"""Named crash points: places where a test may end this process with SIGKILL, compiled into the code that users run.

`ORCHESTRATE_CRASH_AT=landing.before-done` ends the process when it comes there, `…:3` when it comes there for the
third time. `orchestrator.domain.effects.CRASH_POINTS` has all names.
"""

import os
import signal

CRASH_POINT_VARIABLE = "ORCHESTRATE_CRASH_AT"


class _Target:
    """The point that this process is to die at, and how many times it is still to be passed."""

    def __init__(self, text: str) -> None:
        self.name, _, count = text.partition(":")
        self.left = int(count) if count.isdigit() else 1


_target = _Target(os.environ.get(CRASH_POINT_VARIABLE, ""))


def crash_point(name: str) -> None:
    """Die here if this is the point that the environment names; otherwise nothing."""
    if name != _target.name:
        return
    _target.left -= 1
    if _target.left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
