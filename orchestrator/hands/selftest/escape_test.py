"""The self-test of a sandbox: a real attempt to break out of it, made once before any command of a model runs."""

import json
import os
import secrets
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.hands.files.directory_trees import create_private_folder, remove_tree
from orchestrator.hands.sandbox.backend import Backend, ExecutionRequest, HostPaths, MountPlan
from orchestrator.hands.selftest.escape_attempts import EscapeTargets
from orchestrator.hands.toolchain.interpreters import get_own_python, read_script
from orchestrator.ports.hands import CommandResult, ShellCommand

_TIMEOUT_S = 30.0
_SHELL_SETS = frozenset({"PWD", "OLDPWD", "SHLVL", "_"})


@dataclass(frozen=True)
class Decoys:
    """A secret in files, in a process's variables and arguments; places to write to; sockets to reach."""

    token: str
    secret: str
    files: tuple[Path, ...]
    targets: tuple[Path, ...]
    port: int
    abstract: str

    def build_escape_targets(self) -> EscapeTargets:
        """Return the orders for the attack, without the secret."""
        read, write = list(map(str, self.files)), list(map(str, self.targets))
        return EscapeTargets(token=self.token, read=read, write=write, port=self.port, abstract=self.abstract)

    def find_escapes(self, loot: Mapping[str, list[str]], known_names: frozenset[str]) -> Iterator[str]:
        """Yield each wall that did not hold, by the attack's loot and by traces on the host.

        `loot` is what the attack found, by kind; `known_names` are variables that commands get.
        """
        if any(self.secret in text for text in loot["read"]):
            yield "a file outside could be read"
        if any(self.secret in text for text in loot["environ"]) or _has_own_variable(loot["environ"], known_names):
            yield "the environment of a process outside could be read"
        if any(self.secret in text for text in loot["cmdline"]):
            yield "processes outside could be seen"
        if any(target.exists() for target in self.targets):
            yield "a file outside the workspace could be written"
        if loot["kernel"]:
            yield f"a kernel setting could be opened for writing ({', '.join(loot['kernel'])})"
        if loot["connected"]:
            yield f"a socket outside could be reached ({', '.join(loot['connected'])})"


@contextmanager
def place_decoys(folder: Path, host_paths: HostPaths) -> Iterator[Decoys]:
    """Put decoys in `folder`, in the home directory, beside the repository and in a process, while the block lasts."""
    token, secret = secrets.token_hex(16), secrets.token_hex(16)
    with ExitStack() as stack:
        files = [folder / "canary"]
        files[0].write_text(secret, encoding="ascii")
        if not folder.is_relative_to(host_paths.home):
            files.extend(_place_in_home(host_paths.home, secret, stack))
        targets = (folder / "written", Path(f"/etc/{token}"), host_paths.repository.parent / f".{token}")
        for target in targets:
            stack.callback(_unlink_target, target)
        stack.enter_context(_run_decoy_process(secret))
        port = stack.enter_context(_open_listener(socket.AF_INET, ("127.0.0.1", 0))).getsockname()[1]
        stack.enter_context(_open_listener(socket.AF_UNIX, f"\0orchestrate-{token}"))
        yield Decoys(token, secret, tuple(files), targets, port, f"orchestrate-{token}")


def _has_own_variable(entries: list[str], known_names: frozenset[str]) -> bool:
    """Return True if a variable of ours that no command gets shows up inside, name and value."""
    variables = {f"{name}={value}" for name, value in os.environ.items() if name not in known_names | _SHELL_SETS}
    return not variables.isdisjoint(entries)


def _place_in_home(home: Path, secret: str, stack: ExitStack) -> list[Path]:
    """Write the secret into a new file in the home directory, if that can be written; return its path."""
    with suppress(OSError):
        number, name = tempfile.mkstemp(dir=home, prefix=".orchestrate-canary-")
        stack.callback(_unlink_target, Path(name))
        with os.fdopen(number, "w", encoding="ascii") as file:
            file.write(secret)
        return [Path(name)]
    return []


@contextmanager
def _run_decoy_process(secret: str) -> Iterator[None]:
    """Run a process outside with the secret among its variables and its arguments."""
    words = ["/bin/sh", "-c", "read -r _", secret]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env={"CANARY": secret}) as process:
        try:
            yield
        finally:
            process.kill()


@contextmanager
def _open_listener(family: socket.AddressFamily, address: str | tuple[str, int]) -> Iterator[socket.socket]:
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen()
        yield listener


def _unlink_target(target: Path) -> None:
    with suppress(OSError):
        target.unlink()


@dataclass(frozen=True)
class SelfTestReport:
    """The result of a self-test. `escapes` names each wall that did not hold; without `trouble` commands may run."""

    escapes: tuple[str, ...] = ()
    trouble: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


async def run_self_test(backend: Backend, scratch: Path) -> SelfTestReport:
    """Boot the sandbox, attack the host from inside, and look for traces outside; `scratch` is made and removed."""
    try:
        create_private_folder(scratch)
        with place_decoys(scratch, backend.host_paths) as decoys:
            return await _run_attack(backend, scratch, decoys)
    except OSError as error:
        return SelfTestReport(trouble=f"The sandbox's self-test could not be prepared: {error}.")
    finally:
        remove_tree(scratch)


async def _run_attack(backend: Backend, scratch: Path, decoys: Decoys) -> SelfTestReport:
    owner = backend.policy.uid
    workspace = create_private_folder(scratch / "workspace", owner)
    mount_plan = MountPlan(workspace, create_private_folder(scratch / "git", owner))
    (mount_plan.root / ".git").mkdir()
    command = _build_attack(decoys)
    request = ExecutionRequest(command, mount_plan, scratch / "log", command.timeout_s, command.output_bytes)
    try:
        outcome = await backend.run_command(request)
    finally:
        await backend.release_workspace(mount_plan)
    return _build_report(outcome, decoys, frozenset(backend.build_environment(command)))


def _build_attack(decoys: Decoys) -> ShellCommand:
    """Return the attack, run by our own Python, which every tool chain holds."""
    script = read_script("selftest", "escape_attempts.py")
    words = (str(get_own_python()), "-I", "-S", "-c", script, json.dumps(decoys.build_escape_targets()))
    return ShellCommand(line=f"exec {shlex.join(words)}", timeout_s=_TIMEOUT_S)


def _build_report(outcome: CommandResult, decoys: Decoys, known_names: frozenset[str]) -> SelfTestReport:
    output = outcome.log.read_text(encoding="utf-8", errors="replace") if outcome.log.exists() else ""
    if not outcome.is_success or decoys.token not in output:
        words = outcome.detail or output.strip()[-500:] or f"its self-test ended as {outcome.ending}"
        return SelfTestReport(trouble=f"The sandbox does not start: {words}")
    escapes = tuple(decoys.find_escapes(json.loads(output.partition(decoys.token)[2]), known_names))
    if escapes:
        return SelfTestReport(escapes, f"The sandbox does not hold: {'; '.join(escapes)}.")
    return SelfTestReport(facts={"self-test": f"passed in {outcome.seconds:.2f} s"})
