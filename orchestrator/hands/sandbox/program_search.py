"""The programs that build a sandbox, found where the repository being worked on cannot put its own."""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/sbin", "/usr/local/bin", "/run/wrappers/bin", "/run/current-system/sw/bin")


class ProgramMissing(Exception):
    """A program that the sandbox is built with is not installed, or does not start."""


@dataclass(frozen=True)
class SandboxPrograms:
    """Absolute paths outside the repository. `options` are the long options this bubblewrap knows."""

    bwrap: str
    prlimit: str
    setpriv: str | None
    version: str
    options: frozenset[str]

    def has_option(self, option: str) -> bool:
        """Return True if bubblewrap has the option, for example `--disable-userns` (0.8 and later)."""
        return option in self.options


def find_sandbox_programs(environ: Mapping[str, str], untrusted: Iterable[Path], is_root: bool) -> SandboxPrograms:
    """Look in the system's directories first, then on PATH; never below `untrusted` directories.

    Raises:
        ProgramMissing: bubblewrap, prlimit, or (for root) setpriv is missing or broken.
    """
    untrusted_folders = tuple(untrusted)
    bwrap = find_program("bwrap", environ, untrusted_folders, "bubblewrap")
    prlimit = find_program("prlimit", environ, untrusted_folders, "util-linux")
    setpriv = find_program("setpriv", environ, untrusted_folders, "util-linux") if is_root else None
    version, options = read_option_output(bwrap, "--version").strip(), read_option_output(bwrap, "--help")
    return SandboxPrograms(bwrap, prlimit, setpriv, version, frozenset(re.findall(r"--[a-z0-9-]+", options)))


def find_program(name: str, environ: Mapping[str, str], untrusted: Iterable[Path], package: str) -> str:
    """Return the path of a program in the system's directories or on PATH, never below `untrusted` ones.

    Raises:
        ProgramMissing: it is not there; names the `package` that holds it.
    """
    untrusted_folders = [p.resolve() for p in untrusted]
    searched = map(Path, (*_SYSTEM_PATH, *environ.get("PATH", "").split(os.pathsep)))
    for folder in (path for path in searched if path.is_absolute()):
        program = (folder / name).resolve()
        if any(program.is_relative_to(s) or folder.resolve().is_relative_to(s) for s in untrusted_folders):
            continue
        if program.is_file() and os.access(program, os.X_OK):
            return str(program)
    raise ProgramMissing(f"{name} is not installed; install it, for example with `apt-get install {package}`.")


def read_option_output(program: str, option: str, env: Mapping[str, str] | None = None) -> str:
    """Return the output of a program with an option, started with no variables but `env`.

    Raises:
        ProgramMissing: it does not start.
    """
    try:
        nothing, words = subprocess.DEVNULL, [program, option]
        return subprocess.check_output(words, stdin=nothing, stderr=nothing, text=True, timeout=10, env=env or {})
    except (OSError, subprocess.SubprocessError) as error:
        raise ProgramMissing(f"{program} does not start ({error}); reinstall it.") from error
