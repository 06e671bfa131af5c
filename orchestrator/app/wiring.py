"""Opening a run: lock, journal, hands, gate, forge and roles, put together and taken down again."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from orchestrator.agent.ask import Asker
from orchestrator.app.hands import JournaledHands
from orchestrator.app.options import grant, retry_policy
from orchestrator.config.model import Config
from orchestrator.domain.chat import Role
from orchestrator.domain.check import CheckSpec
from orchestrator.domain.event import Event, Recorded
from orchestrator.domain.ids import TaskId
from orchestrator.domain.state import RunState
from orchestrator.engine.begin import engine_started
from orchestrator.engine.context import RunContext
from orchestrator.engine.pace import Freely, Pace
from orchestrator.errors import EnvironmentProblem
from orchestrator.forge.local import LocalForge
from orchestrator.hands.local import local_hands
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.runs import RunDirectory, StateDirectory
from orchestrator.judge.checks import CheckRunner
from orchestrator.judge.gate import HarnessGate
from orchestrator.llm.budget import Budget
from orchestrator.llm.limits import LimitedClient, ProviderLimits
from orchestrator.llm.router import ModelRouter
from orchestrator.migrate.recipe import RecipeEnv
from orchestrator.ports.ledger import Clock, Ledger
from orchestrator.ports.models import ModelClient
from orchestrator.report.status import STATUS, status_body
from prompts import SHIPPED, PromptSource
from roles.base import Surroundings as RoleSurroundings
from roles.kit import ModelRoles
from worktrees.repository import Repository


class Watcher(Protocol):
    """Somebody who follows a run while it works. Called on the event loop: it must not block."""

    def opened(self, state: RunState) -> None:
        """The run is open; `state` stays current."""
        ...

    def recorded(self, recorded: Recorded) -> None:
        """Something was recorded."""
        ...


@dataclass(frozen=True)
class Wiring:
    """What a run is opened with. `first` are its first events; empty for a run that exists.

    `with_models` is false for runs that ask no model. The fields after `watcher` are for replays: what answers instead
    of the configured models, when things begin, which journal is written, and other prompts.
    """

    repository: Repository
    config: Config
    state: StateDirectory
    directory: RunDirectory
    checks: Sequence[CheckSpec]
    env: RecipeEnv | None = None
    first: Sequence[Event] = ()
    with_models: bool = True
    watcher: Watcher | None = None
    client: ModelClient | None = None
    pace: Pace = field(default_factory=Freely)
    open_journal: Callable[[Path, Clock], Journal] = Journal
    prompts: PromptSource = SHIPPED


@asynccontextmanager
async def open_run(wiring: Wiring) -> AsyncIterator[RunContext]:
    """A run that this process works on.

    Raises:
        RunLocked: another process does.
        EnvironmentProblem: no sandbox, so nothing could be judged; or the state directory cannot be used.
    """
    async with AsyncExitStack() as stack:
        hands = await stack.enter_async_context(
            local_hands(
                wiring.repository,
                wiring.state.path,
                grant(wiring.config, wiring.env),
                slots=wiring.config.hands.slots or None,
            )
        )
        if hands.refusal:
            raise EnvironmentProblem(hands.refusal)
        stack.enter_context(wiring.directory.lock())
        journal = await to_thread.run_sync(wiring.open_journal, wiring.directory.path, SystemClock())
        stack.callback(journal.close)
        journal.projections[STATUS] = partial(status_body, journal=wiring.directory.journal)
        if wiring.watcher:
            journal.listeners.append(wiring.watcher.recorded)
            wiring.watcher.opened(journal.state)
        await journal.append(*wiring.first, engine_started(journal.state.epoch + 1))
        journaled = JournaledHands(hands, journal)
        runner = CheckRunner(journaled, journal, wiring.config.hands.output_mb * 1024 * 1024)
        yield RunContext(
            directory=wiring.directory,
            journal=journal,
            config=wiring.config,
            repository=wiring.repository,
            hands=journaled,
            gate=HarnessGate(runner, journal, wiring.checks),
            forge=_forge(wiring, journal.state),
            roles=await _roles(wiring, journal, stack) if wiring.with_models else None,
            pace=wiring.pace,
        )


def _forge(wiring: Wiring, state: RunState) -> LocalForge:
    when = state.run.started_at.isoformat(timespec="seconds")
    return LocalForge(wiring.repository.git, wiring.state.path / "prs", when)


async def _roles(wiring: Wiring, journal: Journal, stack: AsyncExitStack) -> ModelRoles:
    if wiring.client is not None:
        return _assembled(wiring.config, journal, wiring.client, wiring.prompts)
    router = await stack.enter_async_context(ModelRouter(wiring.directory.path, consumed(journal.state)))
    return build_roles(wiring.config, journal, router)


def build_roles(config: Config, ledger: Ledger, router: ModelRouter) -> ModelRoles:
    """The three roles on the configured models."""
    return _assembled(config, ledger, LimitedClient(router, ProviderLimits(config.retry.concurrency)))


def _assembled(config: Config, ledger: Ledger, client: ModelClient, prompts: PromptSource = SHIPPED) -> ModelRoles:
    asker = Asker(client, ledger, retry_policy(config), Budget(config.budget))
    return ModelRoles(RoleSurroundings(config, ledger, asker, prompts))


def consumed(state: RunState) -> Mapping[str, Mapping[tuple[Role, TaskId], int]]:
    """By model as configured: how many answers and failures each role and task has had, so that scripts go on."""
    counts: dict[str, Counter[tuple[Role, TaskId]]] = {}
    for session in state.sessions.values():
        if session.task is not None:
            used = counts.setdefault(session.model, Counter())
            used[session.role, session.task] += session.replies + session.failures
    return counts
