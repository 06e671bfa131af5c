"""Keeping the memory and the environment of this process from everybody but root, for what holds credentials."""

import ctypes
import resource
from contextlib import suppress

_PR_SET_DUMPABLE = 4


def protect_process() -> None:
    """Let no process of the same user read `/proc/<us>/environ` or our memory, and let no core be written.

    What is started from here is as open as ever, once it has executed another program. A system without such a call
    stays as it is.
    """
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
