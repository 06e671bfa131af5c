"""A real terminal, by tmux: a shell in it, keys, sizes, and what stands on its screen."""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.running.cli import COMMAND, environment

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed (make setup does)")
_PATIENCE_S = 180.0


class Terminal:
    """One window of a tmux server of its own, with a shell in it."""

    def __init__(self, socket: Path, env: Mapping[str, str]) -> None:
        self._socket, self._env = socket, env

    def start(self, cwd: Path, width: int, height: int) -> None:
        """Open it."""
        config = self._socket.with_suffix(".conf")
        config.write_text("set -g history-limit 50000\nset -g status off\n")
        size = ("-x", str(width), "-y", str(height))
        self._tmux("-f", str(config), "new-session", "-d", *size, "-c", str(cwd), "bash --norc --noprofile")
        self.wait_for(lambda lines: "".join(lines).rstrip().endswith(("$", "#")))

    def run(self, *words: str) -> None:
        """Type an `orchestrate` command; how it exits is told after it."""
        self.type(f"clear; {shlex.join([*COMMAND, *words])}; echo exit=$?")

    def type(self, line: str) -> None:
        """Type a line."""
        self._tmux("send-keys", "-l", line)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Make the window larger or smaller."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def lines(self, *, with_history: bool = False) -> list[str]:
        """What stands on the screen."""
        history = ("-S", "-") if with_history else ()
        return self._tmux("capture-pane", "-p", *history).splitlines()

    def is_set(self, flag: str) -> bool:
        """A flag of the window, such as `alternate_on`, `cursor_flag`, `mouse_any_flag`."""
        return self._tmux("display-message", "-p", f"#{{{flag}}}").strip() == "1"

    def wait_for(self, is_there: Callable[[Sequence[str]], bool]) -> list[str]:
        """Wait until the screen is so; gives it."""
        until = time.monotonic() + _PATIENCE_S
        while not is_there(lines := self.lines()):
            assert time.monotonic() < until, "the screen never came; it is\n" + "\n".join(lines)
            time.sleep(0.1)
        return lines

    def close(self) -> None:
        """The window goes, as when somebody shuts it: what runs in it gets a SIGHUP."""
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *words], env=dict(self._env), capture_output=True, text=True, check=False
        )
        return done.stdout


@contextmanager
def terminal(place: Path, width: int = 80, height: int = 24) -> Iterator[Terminal]:
    """A terminal whose shell stands in a directory."""
    env = environment(place, TERM="xterm-256color", LANG="C.UTF-8", ESCDELAY="25")
    socket = place / f"tmux-{os.getpid()}-{time.monotonic_ns()}"
    opened = Terminal(socket, {name: value for name, value in env.items() if name != "CI"})
    try:
        opened.start(place, width, height)
        yield opened
    finally:
        opened.close()


def processes_that(*words: str) -> list[int]:
    """The processes whose command line holds all these words."""
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return [int(entry.name) for entry in entries if _holds(entry, words)]


def _holds(process: Path, words: Sequence[str]) -> bool:
    try:
        line = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return all(word.encode() in line for word in words)
