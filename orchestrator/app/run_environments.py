"""The environments of a run: what is granted and installed, and the hands on this machine and on hosts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.app.journaled_hands import JournaledHands
from orchestrator.config.engines import LOOP
from orchestrator.config.model import Config
from orchestrator.domain.event.run import Noticed, RunPaused
from orchestrator.domain.recipe.model import Recipe, RecipeEnv, select_environment
from orchestrator.engine.context import HandsLender
from orchestrator.errors import EnvironmentProblem, OrchestrateError
from orchestrator.forge.factory import require_forge
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from orchestrator.journal.journal import Journal
from orchestrator.migrate.sites.ast_grep import list_needed_programs
from orchestrator.ports.hands import Hands
from orchestrator.project.options import build_grant
from orchestrator.provisioning.dependencies import install_dependencies, run_setup_commands
from orchestrator.run_control.control import RunLocation

if TYPE_CHECKING:
    from orchestrator.app.hosts import HostConnections


@dataclass(frozen=True)
class RunHands:
    """The hands of a run, all of which work under one grant.

    Attributes:
        here: those of this machine alone.
        work: those of agents and of the steps of a migration.
        checks: those of the gate.
        before: those of the baseline, if it has an environment of its own.
        lend_wider: opens hands of this machine that also see given directories of it.
    """

    here: Hands
    work: Hands
    checks: Hands
    lend_wider: HandsLender
    before: Hands | None = None


@dataclass(frozen=True)
class RunEnvironments:
    """Opens the hands of a run. `deps` is where installed dependencies lie; what needs closing goes onto the stack."""

    location: RunLocation
    journal: Journal
    config: Config
    recipe: Recipe | None
    deps: Path
    stack: AsyncExitStack

    async def open_hands(self) -> RunHands:
        """Return the hands of the run, which hosts may join where that is configured.

        A problem is recorded as the reason for the stop.

        Raises:
            OrchestrateError: they cannot be had.
        """
        env = self.recipe.env if self.recipe else RecipeEnv()
        try:
            await require_forge(self.location.repository, self.config)
            connections = await self._open_connections()
            grant, here = await self._open_environment(select_environment(env, "after"))
            checks = await self._spread_hands(connections, here, grant)
            before = None
            if env.has_two_environments:
                before_grant, before_here = await self._open_environment(select_environment(env, "before"))
                before = self._record_workspaces(await self._spread_hands(connections, before_here, before_grant))
        except OrchestrateError as problem:
            await self.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
            raise
        recorded_here = self._record_workspaces(here)
        recorded_checks = recorded_here if checks is here else self._record_workspaces(checks)
        work = recorded_here if self._needs_this_machine() else recorded_checks
        return RunHands(recorded_here, work, recorded_checks, partial(self._lend_hands, grant), before)

    @asynccontextmanager
    async def _lend_hands(self, grant: SandboxGrant, directories: Sequence[Path]) -> AsyncIterator[Hands]:
        """Open hands of this machine like the run's own that see these directories of it as well."""
        folders = (GrantedFolder(path=str(directory), origin="orchestrate itself") for directory in directories)
        wider_grant = grant.model_copy(update={"read_only": (*grant.read_only, *folders)})
        async with self._open_local_hands(wider_grant) as hands:
            yield self._record_workspaces(hands)

    def _record_workspaces(self, hands: Hands) -> Hands:
        return JournaledHands(hands, self.journal)

    def _needs_this_machine(self) -> bool:
        """Return True if agents start programs that are granted files or credentials of this machine."""
        has_programs = any(engine != LOOP for _, engine in self.config.roles.worker.iterate_engines())
        return has_programs or any(server.command for server in self.config.mcp)

    async def _open_connections(self) -> "HostConnections | None":
        if not self.config.hosts.listen:
            return None
        from orchestrator.app.hosts import open_host_connections  # most runs have none

        return await self.stack.enter_async_context(open_host_connections(self.config, self.journal))

    async def _spread_hands(self, hosts: "HostConnections | None", here: LocalHands, grant: SandboxGrant) -> Hands:
        if hosts is None:
            return here
        return await hosts.spread_hands(here, grant, self.journal.state.run.base, self.location.state.path)

    async def _open_environment(self, env: RecipeEnv) -> tuple[SandboxGrant, LocalHands]:
        location, config = self.location, self.config
        lent_until_end = self.stack.enter_context(ExitStack())
        base, state = self.journal.state.run.base, location.state.path
        installation = (location.repository, state, self.deps, base, self._record_notice, lent_until_end)
        grant = build_grant(config, env, list_needed_programs(self.recipe) if self.recipe else ())
        grant = await install_dependencies(grant, (*config.env.deps, *env.deps), *installation)
        grant = await run_setup_commands(grant, env, *installation)
        hands = await self.stack.enter_async_context(self._open_local_hands(grant))
        if hands.refusal_reason:
            raise EnvironmentProblem(hands.refusal_reason)
        for notice in hands.notices:
            await self.journal.append(Noticed(level="warning", text=notice))
        return grant, hands

    def _open_local_hands(self, grant: SandboxGrant) -> AbstractAsyncContextManager[LocalHands]:
        slots, redactor = self.config.hands.slots or None, self.journal.redactor
        repository, state = self.location.repository, self.location.state.path
        return open_local_hands(repository, state, grant, slots=slots, redactor=redactor)

    async def _record_notice(self, text: str) -> None:
        await self.journal.append(Noticed(level="info", text=text))
