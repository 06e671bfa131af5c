"""Opening a run: lock, journal, hands, gate, forge and roles, put together and taken down again."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from anyio import to_thread

from orchestrator.agent.ask import Asker
from orchestrator.app.deps import DEPS, with_deps
from orchestrator.app.forges import opened_forge, require_forge
from orchestrator.app.hands import JournaledHands
from orchestrator.app.options import grant, litellm_client, provider_rules, retry_policy
from orchestrator.app.outlets import notifying
from orchestrator.app.place import Place
from orchestrator.app.secrets import redactor_for
from orchestrator.app.setup import with_setup
from orchestrator.config.effective import LiveConfig
from orchestrator.config.layers import load
from orchestrator.config.model import BudgetSettings, Config
from orchestrator.crash import crash_point
from orchestrator.domain.chat import Role
from orchestrator.domain.event import Recorded
from orchestrator.domain.event.run import Noticed, RunPaused
from orchestrator.domain.ids import TaskId
from orchestrator.domain.state import RunState
from orchestrator.engine.begin import engine_started
from orchestrator.engine.context import RunContext
from orchestrator.engine.desk import Desk
from orchestrator.engine.fence import raise_fence
from orchestrator.engine.ladder import RunLadder
from orchestrator.engine.pace import Freely, Pace
from orchestrator.engine.ref_repair import repair_refs
from orchestrator.errors import EnvironmentProblem, OrchestrateError, as_ours
from orchestrator.hands.local import LocalHands, local_hands
from orchestrator.hands.policy import GivenDir, Grant
from orchestrator.hooks.runner import RunHooks
from orchestrator.journal.caretaker import Caretaker
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.judge.canary import Canaries
from orchestrator.judge.checks import CheckRunner
from orchestrator.judge.gate import HarnessGate
from orchestrator.llm.budget import Budget
from orchestrator.llm.limits import UNLIMITED, Providers
from orchestrator.llm.router import ModelRouter
from orchestrator.migrate.judging.worlds import env_of
from orchestrator.migrate.recipe import Recipe, RecipeEnv
from orchestrator.migrate.scope.ast_grep import programs
from orchestrator.ports.forge import Forge
from orchestrator.ports.hands import Hands
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ladder import AS_SHIPPED, Ladder
from orchestrator.ports.ledger import Clock, Ledger
from orchestrator.ports.models import ModelClient
from orchestrator.queue.branch import Epoch
from orchestrator.report.status import STATUS, status_body
from prompts import SHIPPED, PromptSource
from roles.base import Surroundings as RoleSurroundings
from roles.kit import ModelRoles, model_problems
from worktrees.errors import GitError, RefMoved


class Watcher(Protocol):
    """Somebody who follows a run while it works. Called on the event loop: it must not block."""

    def opened(self, state: RunState) -> None:
        """The run is open; `state` stays current."""
        ...

    def recorded(self, recorded: Recorded) -> None:
        """Something was recorded."""
        ...


def _as_it_is(forge: Forge) -> Forge:
    return forge


@dataclass(frozen=True)
class Means:
    """What a run works with where a replay takes something else.

    Attributes:
        client: what answers instead of the configured models.
        pace: when things begin.
        open_journal: which journal is written.
        prompts: what the roles are told.
        around: what stands before the forge.
        deps: where installed dependencies lie, if not in the run's own state directory.
    """

    client: ModelClient | None = None
    pace: Pace = field(default_factory=Freely)
    open_journal: Callable[[Path, Clock], Journal] = Journal
    prompts: PromptSource = SHIPPED
    around: Callable[[Forge], Forge] = _as_it_is
    deps: Path | None = None


_USUAL = Means()


@asynccontextmanager
async def open_run(place: Place, watcher: Watcher | None = None, means: Means = _USUAL) -> AsyncIterator[RunContext]:
    """A run that this process works on from now on; nobody else can record or land anything any more.

    Raises:
        RunLocked: another process works on it.
        EnvironmentProblem: the state directory cannot be used.
    """
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(place.directory.lock())
        journal = await _journal(place, watcher, means, stack)
        epoch = await _fence(place, journal)
        await Desk(journal, place.directory.inbox).take_all()
        live = LiveConfig(journal.state)
        lock.sign(live.now.run.lease_s)
        recovered = await stack.enter_async_context(
            notifying(live.now, journal, place.directory.journal, place.repository.root)
        )
        recipe = _recipe(journal.state)
        allowed, hands, before = await _worlds(place, live.now, recipe, journal, stack, means.deps)
        hooks = _hooks(place, live.now, journal, hands)
        yield RunContext(
            directory=place.directory,
            journal=journal,
            live=live,
            lock=lock,
            epoch=epoch,
            repository=place.repository,
            hands=hands,
            gate=_gate(live.now, recipe, journal, hands, before),
            before=before,
            lending=partial(_lending, place, live.now, allowed, journal),
            canaries=None if recipe else _canaries(live.now, hands, journal),
            forge=means.around(await stack.enter_async_context(_forge(place, live.now, journal))),
            roles=await _roles(place, live, journal, hooks, means, stack) if _asks(recipe) else None,
            hooks=hooks,
            recovered=recovered,
            pace=means.pace,
            has_worker=partial(_has_worker, live.now),
        )


def _recipe(state: RunState) -> Recipe | None:
    """The recipe that the run goes on by; None for a goal."""
    stands = state.revised or state.recipe
    return Recipe.model_validate(stands) if stands else None


def _asks(recipe: Recipe | None) -> bool:
    """Whether the run asks models: a goal does."""
    return recipe is None or recipe.asks_models


async def _has_worker(config: Config) -> bool:
    """Whether the user has named a model for workers, and it exists as far as can be told without a call."""
    if config.roles.worker.model == load(None, {}).config.roles.worker.model:
        return False
    async with ModelRouter(Path()) as router:
        return not await model_problems(config.roles, router, ("worker",))


def _gate(config: Config, recipe: Recipe | None, journal: Journal, hands: Hands, before: Hands | None) -> HarnessGate:
    checks = recipe.checks() if recipe else config.gate.checks()
    base_runner = _runner(config, before, journal) if before else None
    return HarnessGate(_runner(config, hands, journal), journal, checks, baseline_runner=base_runner)


def _runner(config: Config, hands: Hands, journal: Journal) -> CheckRunner:
    return CheckRunner(hands, journal, config.hands.output_mb * 1024 * 1024)


def _canaries(config: Config, hands: Hands, journal: Journal) -> Canaries | None:
    checks = config.gate.checks()
    return Canaries(_runner(config, hands, journal), journal, checks[0]) if checks else None


async def _journal(place: Place, watcher: Watcher | None, means: Means, stack: AsyncExitStack) -> Journal:
    crash_point("engine.before-claim")
    journal = await to_thread.run_sync(means.open_journal, place.directory.path, SystemClock())
    crash_point("engine.after-claim")
    stack.callback(journal.close)
    if journal.state.started is not None:
        journal.redactor = await to_thread.run_sync(redactor_for, LiveConfig(journal.state).now)
    stack.callback(Caretaker(journal).close)
    journal.projections[STATUS] = partial(status_body, journal=place.directory.journal)
    if watcher:
        journal.listeners.append(watcher.recorded)
        watcher.opened(journal.state)
    await journal.append(engine_started(journal.epoch))
    return journal


async def _fence(place: Place, journal: Journal) -> Epoch:
    """Raise the fence on refs that can be written; what stands in the way is recorded as the reason for the stop."""
    try:
        await repair_refs(place.repository.git, journal)
        return await raise_fence(place.repository.git, journal)
    except GitError as error:
        problem = as_ours(error)
        if problem is None or isinstance(error, RefMoved):
            raise
        await journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
        raise problem from error


async def _worlds(
    place: Place,
    config: Config,
    recipe: Recipe | None,
    journal: Journal,
    stack: AsyncExitStack,
    deps: Path | None = None,
) -> tuple[Grant, Hands, Hands | None]:
    """The hands that work with what they are granted, and those of the baseline where that has a world of its own."""
    env = recipe.env if recipe else RecipeEnv()
    try:
        await require_forge(place.repository, config)
        tools = programs(recipe) if recipe else ()
        allowed, hands = await _hands(place, config, env_of(env, "after"), tools, journal, stack, deps)
        if not env.has_two_worlds:
            return allowed, JournaledHands(hands, journal), None
        _, before = await _hands(place, config, env_of(env, "before"), tools, journal, stack, deps)
    except OrchestrateError as problem:
        await journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
        raise
    return allowed, JournaledHands(hands, journal), JournaledHands(before, journal)


async def _hands(
    place: Place,
    config: Config,
    env: RecipeEnv,
    tools: Sequence[str],
    journal: Journal,
    stack: AsyncExitStack,
    deps: Path | None,
) -> tuple[Grant, LocalHands]:
    async def tell(text: str) -> None:
        await journal.append(Noticed(level="info", text=text))

    store, base = deps or place.state.path / DEPS, journal.state.run.base
    until = stack.enter_context(ExitStack())
    entries = (*config.env.deps, *env.deps)
    here = (place.repository, place.state.path, store, base, tell, until)
    allowed = await with_setup(await with_deps(grant(config, env, tools), entries, *here), env, *here)
    hands = await stack.enter_async_context(_opened(place, config, allowed, journal))
    if hands.refusal:
        raise EnvironmentProblem(hands.refusal)
    for notice in hands.notices:
        await journal.append(Noticed(level="warning", text=notice))
    return allowed, hands


def _opened(place: Place, config: Config, allowed: Grant, journal: Journal) -> AbstractAsyncContextManager[LocalHands]:
    slots = config.hands.slots or None
    return local_hands(place.repository, place.state.path, allowed, slots=slots, redactor=journal.redactor)


@asynccontextmanager
async def _lending(
    place: Place, config: Config, allowed: Grant, journal: Journal, directories: Sequence[Path]
) -> AsyncIterator[Hands]:
    """Hands as the run's own that see these directories of the host as well."""
    given = (GivenDir(path=str(directory), origin="orchestrate itself") for directory in directories)
    more = allowed.model_copy(update={"read_only": (*allowed.read_only, *given)})
    async with _opened(place, config, more, journal) as hands:
        yield JournaledHands(hands, journal)


def _hooks(place: Place, config: Config, journal: Journal, hands: Hands) -> Hooks:
    if not config.hooks:
        return NO_HOOKS
    return RunHooks(config.hooks, journal, hands, place.repository.git, place.repository.root)


def _forge(place: Place, config: Config, journal: Journal) -> AbstractAsyncContextManager[Forge]:
    async def tell(text: str) -> None:
        await journal.append(Noticed(level="info", text=text))

    return opened_forge(place.repository, place.state.path / "prs", config, journal.state, tell)


async def _roles(
    place: Place, live: LiveConfig, journal: Journal, hooks: Hooks, means: Means, stack: AsyncExitStack
) -> ModelRoles:
    config, ladder = live.now, RunLadder(lambda: live.now, journal)
    if means.client is not None:
        asker = Asker(means.client, journal, retry_policy(config), Budget(config.budget), Providers(UNLIMITED))
        return ModelRoles(RoleSurroundings(config, journal, asker, hooks, means.prompts, ladder))
    connect = partial(litellm_client, config)
    router = await stack.enter_async_context(ModelRouter(place.directory.path, consumed(journal.state), connect))
    if pauses := tuple(_pauses(journal.state)):
        await journal.append(*pauses)
    return build_roles(config, journal, router, hooks, lambda: live.now.budget, ladder)


def _pauses(state: RunState) -> Iterator[Noticed]:
    """What providers asked for in an earlier process and still holds: calls wait without a word."""
    for pool, until in state.pauses.items():
        if until > SystemClock().now():
            when = f"{until.astimezone():%Y-%m-%d %H:%M:%S %z}"
            yield Noticed(level="info", text=f"{pool} asked not to be called before {when}")


def build_roles(
    config: Config,
    ledger: Ledger,
    router: ModelRouter,
    hooks: Hooks = NO_HOOKS,
    budgets: Callable[[], BudgetSettings] | None = None,
    ladder: Ladder = AS_SHIPPED,
) -> ModelRoles:
    """The three roles on the configured models. `budgets` gives the limits as they stand, where they may change."""
    providers = Providers(provider_rules(config), ledger.state.pauses)
    asker = Asker(router, ledger, retry_policy(config), Budget(config.budget, budgets), providers)
    return ModelRoles(RoleSurroundings(config, ledger, asker, hooks, ladder=ladder))


def consumed(state: RunState) -> Mapping[str, Mapping[tuple[Role, TaskId], int]]:
    """By model as configured: how many answers and failures each role and task has had, so that scripts go on."""
    counts: dict[str, Counter[tuple[Role, TaskId]]] = {}
    for answered, count in state.answers.items():
        role, task, model = answered.split(" ", 2)
        counts.setdefault(model, Counter())[cast(Role, role), TaskId(task)] += count
    return counts
