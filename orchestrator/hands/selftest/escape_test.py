"""Does the sandbox hold? A real attempt to break out of it, made once before any command of a model runs."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from orchestrator.hands.execution.process_runner import ProcessOutcome
from orchestrator.hands.files.directory_trees import create_private_folder, remove_tree
from orchestrator.hands.sandbox.backend import Backend, ExecutionRequest, MountPlan
from orchestrator.hands.selftest.decoys import Decoys, place_decoys
from orchestrator.hands.toolchain.interpreters import get_own_python
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
        with place_decoys(scratch, backend.host_paths) as bait:
            return await _attack(backend, scratch, bait)
    except OSError as error:
        return SelfTestReport(trouble=f"The sandbox's self-test could not be prepared: {error}.")
    finally:
        remove_tree(scratch)


async def _attack(backend: Backend, scratch: Path, bait: Decoys) -> SelfTestReport:
    place = MountPlan(
        create_private_folder(scratch / "workspace", backend.owner),
        create_private_folder(scratch / "git", backend.owner),
    )
    (place.root / ".git").touch()
    command = _command(bait)
    log = scratch / "log"
    try:
        ended = await backend.run_command(
            ExecutionRequest(command, place, log, command.timeout_s, command.output_bytes)
        )
    finally:
        await backend.release_workspace(place)
    return _judge(ended, log, bait, frozenset(backend.build_environment(command)))


def _command(bait: Decoys) -> ShellCommand:
    """Return the attack, run by our own Python, which every tool chain holds."""
    script = resources.files("orchestrator.hands.selftest").joinpath("escape_attempts.py").read_text(encoding="utf-8")
    words = (str(get_own_python()), "-I", "-S", "-c", script, json.dumps(bait.build_escape_targets()))
    return ShellCommand(line=f"exec {shlex.join(words)}", timeout_s=_TIMEOUT_S)


def _judge(ended: ProcessOutcome, log: Path, bait: Decoys, given: frozenset[str]) -> SelfTestReport:
    if log.exists():
        output = log.read_text(encoding="utf-8", errors="replace")
    else:
        output = ""
    if ended.ending != CommandEnding.EXITED or ended.exit_code != 0 or bait.token not in output:
        words = ended.detail or output.strip()[-500:] or f"its self-test ended as {ended.ending}"
        return SelfTestReport(trouble=f"The sandbox does not start: {words}")
    escapes = tuple(bait.find_escapes(json.loads(output.partition(bait.token)[2]), given))
    if escapes:
        return SelfTestReport(escapes, f"The sandbox does not hold: {'; '.join(escapes)}.")
    return SelfTestReport(facts={"self-test": f"passed in {ended.seconds:.2f} s"})
