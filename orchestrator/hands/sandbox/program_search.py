"""The programs that build a sandbox, found where the repository being worked on cannot put its own."""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.policy import SandboxPolicy
from orchestrator.hands.sandbox.backend import HostPaths

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


@dataclass(frozen=True)
class BackendContext:
    """The conditions that every backend is built and tried under; its files lie in the directory `session`."""

    policy: SandboxPolicy
    host_paths: HostPaths
    environ: Mapping[str, str]
    session: Path

    def find_program(self, name: str, package: str) -> str:
        """Return the path of a program in the system's directories or on PATH, never below directories of the work.

        Raises:
            ProgramMissing: it is not there; names the `package` that holds it.
        """
        folders = (*_SYSTEM_PATH, *self.environ.get("PATH", "").split(os.pathsep))
        if program := find_program_outside(name, folders, self.host_paths.own_folders):
            return str(program.resolve())
        raise ProgramMissing(f"{name} is not installed; install it, for example with `apt-get install {package}`.")


def find_program_outside(name: str, folders: Iterable[str], untrusted: Iterable[Path]) -> Path | None:
    """Return the path of a program in the first absolute folder that has it, never below `untrusted` ones."""
    resolved = tuple(map(Path.resolve, untrusted))
    for folder in map(Path, folders):
        program = folder / name
        if not folder.is_absolute() or not program.is_file() or not os.access(program, os.X_OK):
            continue
        places = (program, program.resolve(), folder.resolve())
        if not any(place.is_relative_to(own) for place in places for own in resolved):
            return program
    return None


def find_sandbox_programs(context: BackendContext) -> SandboxPrograms:
    """Look in the system's directories first, then on PATH.

    Raises:
        ProgramMissing: bubblewrap, prlimit, or (for root) setpriv is missing or broken.
    """
    bwrap, prlimit = context.find_program("bwrap", "bubblewrap"), context.find_program("prlimit", "util-linux")
    setpriv = context.find_program("setpriv", "util-linux") if context.policy.uid is not None else None
    version, options = read_option_output(bwrap, "--version").strip(), read_option_output(bwrap, "--help")
    return SandboxPrograms(bwrap, prlimit, setpriv, version, frozenset(re.findall(r"--[a-z0-9-]+", options)))


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
