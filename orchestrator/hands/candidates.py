"""The backends that commands could run on here, in the order in which they are tried, and why each does not hold."""

from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyio import to_thread

from orchestrator.hands.backend import Backend
from orchestrator.hands.container_engines import Engine, find_engines
from orchestrator.hands.containers import build_containers, sweep
from orchestrator.hands.places import Surroundings
from orchestrator.hands.policy import Choice, Policy
from orchestrator.hands.probe import probe
from orchestrator.hands.programs import ProgramMissing, find_programs
from orchestrator.hands.sandbox import build_sandbox


@dataclass(frozen=True)
class Candidate:
    """A backend that was tried: it either holds, or there is a trouble. `name` is for people."""

    name: str
    backend: Backend | None = None
    trouble: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Trial:
    """What every candidate is tried for; its files lie in the directory `session`."""

    policy: Policy
    around: Surroundings
    environ: Mapping[str, str]
    session: Path

    @property
    def untrusted(self) -> tuple[Path, Path]:
        """Where no program is taken from."""
        return self.around.repository, self.around.state


async def candidates(trial: Trial, wanted: Choice) -> AsyncIterator[Candidate]:
    """Each one tried by a real attempt to break out of it."""
    if wanted in (Choice.AUTO, Choice.BUBBLEWRAP):
        yield await _bubblewrap(trial)
    if wanted in (Choice.AUTO, Choice.CONTAINER):
        async for candidate in _containers(trial):
            yield candidate


async def _bubblewrap(trial: Trial) -> Candidate:
    policy = trial.policy
    try:
        programs = await to_thread.run_sync(find_programs, trial.environ, trial.untrusted, policy.uid is not None)
        fixtures = trial.session / "fixtures"
        sandbox = await to_thread.run_sync(build_sandbox, policy, programs, trial.around, fixtures)
    except ProgramMissing as error:
        return Candidate("bubblewrap", trouble=str(error))
    except OSError as error:
        return Candidate("bubblewrap", trouble=f"The sandbox could not be prepared: {error}.")
    return await _attacked("bubblewrap", sandbox, trial)


async def _containers(trial: Trial) -> AsyncIterator[Candidate]:
    try:
        engines = await to_thread.run_sync(find_engines, trial.environ, trial.untrusted, trial.around.home)
    except ProgramMissing as error:
        yield Candidate("container", trouble=str(error))
        return
    for engine in {engine.kind: engine for engine in engines}.values():
        with suppress(OSError):  # whoever cannot be asked is found out in a moment
            await sweep(engine, trial.around.state)
    for number, engine in enumerate(engines):
        yield await _container(engine, trial, trial.session / f"containers-{number}")


async def _container(engine: Engine, trial: Trial, folder: Path) -> Candidate:
    try:
        backend = await build_containers(trial.policy, engine, trial.around, trial.session, folder, trial.environ)
    except ProgramMissing as error:
        return Candidate(engine.title, trouble=str(error))
    except OSError as error:
        return Candidate(engine.title, trouble=f"No container could be prepared: {error}.")
    return await _attacked(engine.title, backend, trial)


async def _attacked(name: str, backend: Backend, trial: Trial) -> Candidate:
    report = await probe(backend, trial.session / "probe")
    if report.trouble:
        return Candidate(name, trouble=report.trouble, facts=report.facts)
    return Candidate(name, backend, facts=report.facts)
