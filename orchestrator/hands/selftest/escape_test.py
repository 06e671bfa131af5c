"""The self-test of a sandbox: a real attempt to break out of it, made once before any command of a model runs."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.hands.execution.process_runner import ProcessOutcome
from orchestrator.hands.files.directory_trees import create_private_folder, remove_tree
from orchestrator.hands.sandbox.backend import Backend, ExecutionRequest, MountPlan
from orchestrator.hands.selftest.decoys import Decoys, place_decoys
from orchestrator.hands.toolchain.interpreters import get_own_python, read_script
from orchestrator.ports.hands import CommandEnding, ShellCommand

_TIMEOUT_S = 30.0


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
    (mount_plan.root / ".git").touch()
    command = _build_attack(decoys)
    log = scratch / "log"
    request = ExecutionRequest(command, mount_plan, log, command.timeout_s, command.output_bytes)
    try:
        outcome = await backend.run_command(request)
    finally:
        await backend.release_workspace(mount_plan)
    return _build_report(outcome, log, decoys, frozenset(backend.build_environment(command)))


def _build_attack(decoys: Decoys) -> ShellCommand:
    """Return the attack, run by our own Python, which every tool chain holds."""
    script = read_script("selftest", "escape_attempts.py")
    words = (str(get_own_python()), "-I", "-S", "-c", script, json.dumps(decoys.build_escape_targets()))
    return ShellCommand(line=f"exec {shlex.join(words)}", timeout_s=_TIMEOUT_S)


def _build_report(outcome: ProcessOutcome, log: Path, decoys: Decoys, known_names: frozenset[str]) -> SelfTestReport:
    output = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if outcome.ending != CommandEnding.EXITED or outcome.exit_code != 0 or decoys.token not in output:
        words = outcome.detail or output.strip()[-500:] or f"its self-test ended as {outcome.ending}"
        return SelfTestReport(trouble=f"The sandbox does not start: {words}")
    escapes = tuple(decoys.find_escapes(json.loads(output.partition(decoys.token)[2]), known_names))
    if escapes:
        return SelfTestReport(escapes, f"The sandbox does not hold: {'; '.join(escapes)}.")
    return SelfTestReport(facts={"self-test": f"passed in {outcome.seconds:.2f} s"})
