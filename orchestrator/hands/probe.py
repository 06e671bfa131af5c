"""Does the sandbox hold? A real attempt to break out of it, made once before any command of a model runs."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from orchestrator.hands.backend import Backend, Order, Place
from orchestrator.hands.bait import Bait, put_out
from orchestrator.hands.interpreters import own_python
from orchestrator.hands.process import Ended
from orchestrator.hands.trees import new_folder, remove_tree
from orchestrator.ports.hands import Command, Ending

_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class ProbeReport:
    """What the self-test found. `escapes` names each wall that did not hold; no `trouble`: commands may run."""

    escapes: tuple[str, ...] = ()
    trouble: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


async def probe(backend: Backend, scratch: Path) -> ProbeReport:
    """Boot the sandbox, attack the host from inside, and look for traces outside; `scratch` is made and removed."""
    try:
        new_folder(scratch)
        with put_out(scratch, backend.around) as bait:
            return await _attack(backend, scratch, bait)
    except OSError as error:
        return ProbeReport(trouble=f"The sandbox's self-test could not be prepared: {error}.")
    finally:
        remove_tree(scratch)


async def _attack(backend: Backend, scratch: Path, bait: Bait) -> ProbeReport:
    place = Place(new_folder(scratch / "workspace", backend.owner), new_folder(scratch / "git", backend.owner))
    (place.root / ".git").touch()
    command = _command(bait)
    log = scratch / "log"
    try:
        ended = await backend.run(Order(command, place, log, command.timeout_s, command.output_bytes))
    finally:
        await backend.leave(place)
    return _judge(ended, log, bait, frozenset(backend.env(command)))


def _command(bait: Bait) -> Command:
    """The attack, run by our own Python, which every tool chain holds."""
    script = resources.files("orchestrator.hands").joinpath("attack.py").read_text(encoding="utf-8")
    words = (str(own_python()), "-I", "-S", "-c", script, json.dumps(bait.orders()))
    return Command(line=f"exec {shlex.join(words)}", timeout_s=_TIMEOUT_S)


def _judge(ended: Ended, log: Path, bait: Bait, given: frozenset[str]) -> ProbeReport:
    output = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    if ended.ending != Ending.EXITED or ended.exit_code != 0 or bait.token not in output:
        words = ended.detail or output.strip()[-500:] or f"its self-test ended as {ended.ending}"
        return ProbeReport(trouble=f"The sandbox does not start: {words}")
    escapes = tuple(bait.escapes(json.loads(output.partition(bait.token)[2]), given))
    if escapes:
        return ProbeReport(escapes, f"The sandbox does not hold: {'; '.join(escapes)}.")
    return ProbeReport(facts={"self-test": f"passed in {ended.seconds:.2f} s"})
