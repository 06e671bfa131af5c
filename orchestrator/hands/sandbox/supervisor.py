"""Runs one command without any walls around it, and ends what it started with it, as far as that can be done.

Run as a script of its own between the harness and the command: standard library only, orders as JSON in the first
argument. Whatever the command starts and leaves behind becomes a child of this process, which kills its children until
there are none. It begins with that when the command has ended or when the harness hangs up. A command that kills this
process first, or starts something as another user, gets away with it.
"""

import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_PATIENCE_S = 3.0
_PAUSE_S = 0.002


def supervise_command(order: dict[str, Any]) -> dict[str, Any]:
    """Run a command (`words`, `env`, `cwd`) as `user`, if given, to its end or until `control` closes."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    wake, sink = socket.socketpair()
    sink.setblocking(False)
    signal.set_wakeup_fd(sink.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    try:
        user, env, cwd = order["user"], order["env"], order["cwd"]
        user_options = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        popen = subprocess.Popen(order["words"], env=env, cwd=cwd, start_new_session=True, **user_options)
    except OSError as error:
        sys.stderr.write(str(error))
        return {"started": False}
    poller = select.poll()  # `select.select` takes no descriptor above 1,023, and the harness may hold as many
    poller.register(order["control"], select.POLLIN)
    poller.register(wake.fileno(), select.POLLIN)
    while (code := popen.poll()) is None:
        if any(ready == order["control"] for ready, _ in poller.poll()):
            break
        wake.recv(4096)
    _kill_all()
    if code is None:
        return {}
    return {"exit": code if code >= 0 else 128 - code}


def _kill_all() -> None:
    """Kill every descendant until none is left, for three seconds."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        for pid in _iterate_descendants(os.getpid()):
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_S)


def _iterate_descendants(pid: int) -> Iterator[int]:
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, listing.read_text(encoding="ascii").split()):
                yield child
                yield from _iterate_descendants(child)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    os.write(given["status"], json.dumps(supervise_command(given)).encode())
