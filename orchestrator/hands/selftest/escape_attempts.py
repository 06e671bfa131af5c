"""The inside of the self-test: tries to get out of the sandbox and prints what it got hold of.

Run as a script of its own by the interpreter inside: standard library only, orders as JSON in the first argument.
"""

import json
import os
import socket
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

_KERNEL = ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger")


class EscapeTargets(TypedDict):
    """The targets of the attack: files to read and write, a port on loopback and an abstract socket to reach."""

    token: str
    read: list[str]
    write: list[str]
    port: int
    abstract: str


def attempt_escapes(orders: EscapeTargets) -> dict[str, list[str]]:
    """Try every attack; return the loot by kind of attack."""
    _attempt_each(orders["write"], _write_file)
    pids = [entry.name for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    variables: list[str] = []
    for text in _attempt_each((f"/proc/{pid}/environ" for pid in pids), _read_file):
        variables.extend(text.split("\0"))
    return {
        "read": _attempt_each(orders["read"], _read_file),
        "environ": variables,
        "cmdline": _attempt_each((f"/proc/{pid}/cmdline" for pid in pids), _read_file),
        "kernel": _attempt_each(_KERNEL, _open_for_writing),
        "connected": [
            *_attempt_each([str(orders["port"])], _connect_tcp),
            *_attempt_each([orders["abstract"]], _connect_abstract),
        ],
    }


def _attempt_each(targets: Iterable[str], attempt: Callable[[str], str]) -> list[str]:
    found = []
    for target in targets:
        with suppress(OSError):
            found.append(attempt(target))
    return found


def _read_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8", errors="replace")


def _write_file(path: str) -> str:
    Path(path).write_text("escaped", encoding="ascii")
    return path


def _open_for_writing(path: str) -> str:
    os.close(os.open(path, os.O_WRONLY))
    return path


def _connect_tcp(port: str) -> str:
    with socket.create_connection(("127.0.0.1", int(port)), timeout=1):
        return "TCP on loopback"


def _connect_abstract(name: str) -> str:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0{name}")
    return "an abstract socket"


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    sys.stdout.write(arguments["token"] + json.dumps(attempt_escapes(arguments)))
