"""podman and docker, found where the repository being worked on cannot put its own, and how to speak with them."""

import io
import json
import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio

from orchestrator.hands.sandbox.program_search import BackendContext, ProgramMissing, read_option_output

_PASSED_ON = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "DOCKER_CONTEXT")
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin"
_PATIENCE_S = 60.0
_RUNTIMES = ("crun", "runc")


@dataclass(frozen=True)
class ContainerEngine:
    """A program that runs containers.

    `options` come before each of its verbs, `runtime` is the name in them. `seccomp` is the path of its own system call
    filter, None where it keeps none in a file. `is_rootless` is true where it has no rights of the system's root.
    `supported_limits` names the limits it can put on a container as a whole: `pids`, `memory`.
    """

    kind: str
    program: str
    version: str
    env: Mapping[str, str]
    options: tuple[str, ...] = ()
    runtime: str = ""
    seccomp: str | None = None
    is_rootless: bool = False
    supported_limits: frozenset[str] = frozenset()

    @property
    def is_podman(self) -> bool:
        """True for podman, which takes a directory as a root file system and has options of its own."""
        return self.kind == "podman"

    @property
    def title(self) -> str:
        """The engine's name as shown to people."""
        return f"{self.kind} with {self.runtime}" if self.runtime else self.kind

    async def run_engine_command(self, *words: str, input_bytes: bytes = b"") -> str:
        """Run the engine with these words; return its standard output. `input_bytes` is its standard input.

        Raises:
            OSError: it failed, in its own words, or took longer than a minute.
        """
        command = [self.program, *self.options, *words]
        try:
            with anyio.fail_after(_PATIENCE_S):
                done = await anyio.run_process(command, input=input_bytes, check=False, env=dict(self.env), cwd="/")
        except TimeoutError as error:
            raise OSError(f"{self.title} did not answer within a minute") from error
        if done.returncode != 0:
            raise OSError(f"{self.title}: {_get_last_line(done.stderr)}")
        return done.stdout.decode(errors="replace")


def find_engines(context: BackendContext) -> tuple[ContainerEngine, ...]:
    """Return every way to start a container here: podman with its own runtime and others, then docker.

    Raises:
        ProgramMissing: neither is installed, or none starts; says what to install.
    """
    troubles, found = [], list[ContainerEngine]()
    env = {"PATH": _PATH, "HOME": str(context.host_paths.home)}
    env |= {name: context.environ[name] for name in _PASSED_ON if name in context.environ}
    for kind, find_kind in (("podman", _find_podman_engines), ("docker", _find_docker_engines)):
        try:
            found.extend(find_kind(context.find_program(kind, kind), env, context))
        except ProgramMissing as error:
            troubles.append(str(error))
    if not found:
        raise ProgramMissing(" ".join(troubles))
    return tuple(found)


def _find_podman_engines(program: str, env: dict[str, str], context: BackendContext) -> Iterable[ContainerEngine]:
    version = read_option_output(program, "--version", env).strip()
    info = _read_engine_info(program, env, "{{json .Host}}")
    default_runtime = str(info.get("ociRuntime", {}).get("name", ""))
    security = info.get("security", {})
    seccomp = security.get("seccompProfilePath") or None
    is_rootless = bool(security.get("rootless"))
    is_old = is_rootless and info.get("cgroupVersion") == "v1"  # nothing is handed down to users there
    supported_limits = frozenset() if is_old else frozenset(info.get("cgroupControllers") or ())
    installed = (name for name in _RUNTIMES if _is_installed(name, context))
    for runtime in dict.fromkeys((default_runtime, *installed)):
        options = () if runtime == default_runtime else ("--runtime", runtime)
        yield ContainerEngine("podman", program, version, env, options, runtime, seccomp, is_rootless, supported_limits)


def _find_docker_engines(program: str, env: dict[str, str], context: BackendContext) -> Iterable[ContainerEngine]:
    version = read_option_output(program, "--version", env).strip()
    info = _read_engine_info(program, env, "{{json .}}")
    is_rootless = "name=rootless" in (info.get("SecurityOptions") or ())
    keys = {"pids": "PidsLimit", "memory": "MemoryLimit"}
    supported_limits = frozenset(name for name, key in keys.items() if info.get(key))
    yield ContainerEngine("docker", program, version, env, is_rootless=is_rootless, supported_limits=supported_limits)


def _is_installed(name: str, context: BackendContext) -> bool:
    try:
        return bool(context.find_program(name, name))
    except ProgramMissing:
        return False


def _read_engine_info(program: str, env: Mapping[str, str], form: str) -> dict[str, Any]:
    words = [program, "info", "--format", form]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, env=env, check=False)
        info = json.loads(done.stdout or b"null")
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise ProgramMissing(f"{program} does not answer ({error}).") from error
    if done.returncode != 0 or not isinstance(info, dict):
        raise ProgramMissing(f"{program} does not answer: {_get_last_line(done.stderr)}.")
    return info


def _get_last_line(text: bytes) -> str:
    lines = text.decode(errors="replace").strip().splitlines()
    if lines:
        return lines[-1].removeprefix("Error: ").rstrip(". ")
    return "it failed without a word"


def build_image_archive(root: Path) -> bytes:
    """Return a directory as a tar archive that an engine can import as an image."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        archive.add(root, arcname=".")
    return memory.getvalue()
