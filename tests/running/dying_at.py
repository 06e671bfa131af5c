"""`orchestrate` that kills itself: `python dying_at.py MODULE:FUNCTION:WHEN WORDS…`, WHEN being `before` or `after`.

SIGKILL comes when the function of that module is called, or when it has done its work; for coroutines when awaited.
"""

import importlib
import inspect
import os
import signal
import sys
from typing import Any

from orchestrator.cli.main import main


def _deadly(function: Any, when: str) -> Any:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def later(*args: Any, **kwargs: Any) -> Any:
        if when == "before":
            die()
        await function(*args, **kwargs)
        die()

    def now(*args: Any, **kwargs: Any) -> Any:
        if when == "before":
            die()
        function(*args, **kwargs)
        die()

    return later if inspect.iscoroutinefunction(function) else now


if __name__ == "__main__":
    name, function, when = sys.argv[1].split(":")
    holder: Any = importlib.import_module(name)
    *path, last = function.split(".")
    for part in path:
        holder = getattr(holder, part)
    setattr(holder, last, _deadly(getattr(holder, last), when))
    main(sys.argv[2:])
