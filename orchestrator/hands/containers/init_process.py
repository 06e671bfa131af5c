"""Process 1 of a container: carries out commands for the harness, one after the other, each in a session of its own.

Run as a script by the interpreter inside: standard library only, told in the first argument where to call back. It is
unreadable for the commands, which run as the same user; when the harness hangs up it ends, and with it, as the kernel
has it, every process of the container.
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
from contextlib import suppress
from pathlib import Path
from typing import Any

_PR_SET_DUMPABLE = 4
_PAUSE_S = 0.001


class InitProcess:
    """Process 1's loop: it runs one command after the other.

    `scratch_folders` are emptied after each command, `exchange_folders` before each.
    """

    def __init__(self, channel: socket.socket, scratch_folders: list[str], exchange_folders: list[str]) -> None:
        self.channel = channel
        self.scratch_folders = scratch_folders
        self.exchange_folders = exchange_folders
        self.command_pid: int | None = None
        self.exit_statuses: dict[int, int] = {}
        self.mounts = _read_mounts()
        self.wake, sink = socket.socketpair()
        self.wake.setblocking(False)
        sink.setblocking(False)
        self.sink = sink
        signal.set_wakeup_fd(sink.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._reap_children)
        signal.signal(signal.SIGINT, lambda *_: None)  # which a command could send; all others the kernel keeps from us

    def serve_commands(self) -> None:
        """Answer until the harness hangs up: `?` asks whether all is as it was, anything else comes with an order."""
        while True:
            word, descriptors, _, _ = socket.recv_fds(self.channel, 16, 4)
            if not word:
                return
            if word == b"?":
                _empty_folders(self.exchange_folders)
                self._send_reply({"ready": self.mounts == _read_mounts()})
            else:
                self._run_command(descriptors)

    def _run_command(self, descriptors: list[int]) -> None:
        order, out, *streams = descriptors
        source, printed = (*streams, subprocess.DEVNULL)[0], (*streams[1:], out)[0]
        try:
            self._start_command(order, source, printed, out)
        except OSError as error:
            os.write(out, str(error).encode(errors="replace"))
            self._send_reply({"started": False})
            return
        finally:
            for number in descriptors:
                os.close(number)
        self._send_reply({"started": True})
        code = self._wait_for_exit_code()
        self._kill_all()
        self._send_reply({"exit": code})
        _empty_folders(self.scratch_folders)

    def _start_command(self, order: int, source: int, printed: int, out: int) -> None:
        with open(order, "rb", closefd=False) as file:
            command = json.load(file)
        self.command_pid, self.exit_statuses = None, {}
        words, env, cwd = command["words"], command["env"], command["cwd"]
        popen = subprocess.Popen(
            words, env=env, cwd=cwd, stdin=source, stdout=printed, stderr=out, start_new_session=True
        )
        popen.returncode = 0  # it is waited for here, not there
        self.command_pid = popen.pid

    def _wait_for_exit_code(self) -> int:
        """Wait for the command; return its exit code, 128 + n after signal n. Exit if the harness hangs up."""
        while self.command_pid not in self.exit_statuses:
            readable, _, _ = select.select([self.channel, self.wake], [], [])
            if self.channel in readable:
                sys.exit()
            with suppress(BlockingIOError):
                self.wake.recv(4096)
        code = os.waitstatus_to_exitcode(self.exit_statuses[self.command_pid or 0])
        return code if code >= 0 else 128 - code

    def _kill_all(self) -> None:
        """Kill every other process until none is left: the kernel lets no process be forked past such a signal."""
        with suppress(ProcessLookupError):
            while True:
                os.kill(-1, signal.SIGKILL)
                time.sleep(_PAUSE_S)

    def _reap_children(self, *_: object) -> None:
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if self.command_pid in (None, pid):
                    self.exit_statuses[pid] = status

    def _send_reply(self, reply: dict[str, Any]) -> None:
        self.channel.send(json.dumps(reply).encode())


def _read_mounts() -> str:
    """Return the list of mounts, in which anything that the host removes or moves shows."""
    return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")


def _empty_folders(folders: list[str]) -> None:
    for folder in folders:
        _empty_folder(Path(folder), Path(folder).stat().st_dev)


def _empty_folder(folder: Path, device: int) -> None:
    """Remove what lies in a directory and on its device; what is mounted there stays."""
    for entry in list(folder.iterdir()):
        with suppress(OSError):
            if entry.is_symlink() or not entry.is_dir():
                entry.unlink()
            elif entry.stat().st_dev == device:
                entry.chmod(0o700)
                _empty_folder(entry, device)
                entry.rmdir()


def main() -> None:
    """Hide this process, call the harness back and serve it.

    Runs as process 1 only: elsewhere it would kill whatever its user runs.
    """
    if os.getpid() != 1:
        sys.exit("this is for process 1 of a container only")
    settings = json.loads(sys.argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as channel:
        channel.connect(settings["control"])
        InitProcess(channel, settings["passing"], settings["handed"]).serve_commands()


if __name__ == "__main__":
    main()
