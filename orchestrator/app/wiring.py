"""Open a run: put lock, journal, hands, gate, forge and roles together, and take them down again."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from anyio import to_thread

from orchestrator.agent.tool_servers import ToolServers
from orchestrator.app import role_wiring
from orchestrator.app.codebase import open_codebase
from orchestrator.app.configured_prompts import load_configured_prompts
from orchestrator.app.field_guides import open_field_guide
from orchestrator.app.model_loading import start_loading_models
from orchestrator.app.policies import open_policy
from orchestrator.app.run_environments import RunEnvironments
from orchestrator.app.telemetry import choose_hook_trace, run_telemetry
from orchestrator.app.tool_servers import open_tool_servers
from orchestrator.config.engines import LOOP
from orchestrator.config.layers import load_config
from orchestrator.config.live_config import LiveConfig
from orchestrator.config.model import Config
from orchestrator.crash import crash_point
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import Noticed, RunPaused
from orchestrator.domain.ids import TreeId
from orchestrator.domain.recipe.model import Recipe, require_valid_recipe
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import RunTierGrants
from orchestrator.engine.control.command_consumer import CommandConsumer
from orchestrator.engine.control.policy_paths import PolicyHooks
from orchestrator.engine.goal.action_order import ActionOrder, ImmediateOrder
from orchestrator.engine.recovery.ref_repair import raise_landing_fence, repair_refs
from orchestrator.engine.run_start import build_engine_started
from orchestrator.errors import UsageProblem, convert_error
from orchestrator.forge.factory import open_forge
from orchestrator.hooks.runner import HookRunner
from orchestrator.journal.journal import Journal, SystemClock, flush_beside
from orchestrator.journal.locations.run_lock import RunLock
from orchestrator.journal.maintenance import JournalMaintenance
from orchestrator.journal.receipt_directory import ReceiptDirectory
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.gate.check_runner import CheckRunner
from orchestrator.judge.gate.harness import HarnessGate
from orchestrator.judge.gate.narrow_looks import select_by_keyword
from orchestrator.judge.mutation.runner import MutantRunner
from orchestrator.judge.repeats.runner import RepeatRunner
from orchestrator.llm.router import ModelRouter
from orchestrator.memory.guide_file import GuideFile
from orchestrator.ports.codebase import Codebase
from orchestrator.ports.forge import Forge
from orchestrator.ports.hands import Hands
from orchestrator.ports.hooks import NO_HOOKS, Hooks
from orchestrator.ports.ledger import Clock
from orchestrator.ports.model_client import ModelClient
from orchestrator.ports.policy import PolicyGuard
from orchestrator.project.options import build_litellm_client
from orchestrator.project.secrets import build_redactor
from orchestrator.project_rules.repository_rules import RepositoryRules
from orchestrator.provisioning.dependencies import DEPS_DIRECTORY
from orchestrator.queue.pr_branch import LandingFence
from orchestrator.report.projections import build_projections
from orchestrator.run_control.control import RunLocation
from orchestrator.run_control.notifications import run_notifications
from prompts import SHIPPED_PROMPTS, PromptSource
from roles.configured_models import find_model_problems, needs_providers
from roles.model_roles import ModelRoles
from roles.role_context import AgentSources
from worktrees.errors import GitError, RefMoved


class RunWatcher(Protocol):
    """An observer of a run while it works. It is called on the event loop, so it must not block."""

    def on_run_opened(self, state: RunState) -> None:
        """Take the state of the run that was opened; `state` stays current."""

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Take an event that was just recorded."""


@dataclass(frozen=True)
class RunOverrides:
    """The parts of a run that a replay replaces.

    Attributes:
        client: what answers instead of the configured models.
        pace: when things begin.
        open_journal: which journal is written.
        prompts: those among them that are not the shipped ones replace the configured ones.
        wrap_forge: puts something before the forge.
        deps: where installed dependencies lie, if not in the run's own state directory.
        servers: what answers instead of the configured MCP servers.
        is_replay: the policy decides as the journal says that it did, whatever its files say now.
        asks_before_landing: False where nothing lands for good, so that the policy asks nobody about it.
    """

    client: ModelClient | None = None
    pace: ActionOrder = field(default_factory=ImmediateOrder)
    open_journal: Callable[[Path, Clock], Journal] = Journal
    prompts: PromptSource = SHIPPED_PROMPTS
    wrap_forge: Callable[[Forge], Forge] = lambda forge: forge
    deps: Path | None = None
    is_replay: bool = False
    servers: ToolServers | None = None
    asks_before_landing: bool = True


_NO_OVERRIDES = RunOverrides()


@asynccontextmanager
async def open_run(
    location: RunLocation, watcher: RunWatcher | None = None, overrides: RunOverrides = _NO_OVERRIDES
) -> AsyncIterator[RunContext]:
    """Open a run for this process; until it is closed no other process can record or land anything in it.

    Raises:
        RunLocked, EnvironmentProblem: another process works on it, or the state directory cannot be used.
    """
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(location.directory.hold_lock())
        journal = await _open_journal(location, watcher, overrides, stack)
        epoch = await _raise_fence(location, journal)
        await CommandConsumer(journal, location.directory.inbox).take_pending_commands()
        live, recipe = LiveConfig(journal.state), _load_recipe(journal.state)
        opening = _RunOpening(location, overrides, stack, lock, journal, live, live.current, recipe)
        lock.write_owner(opening.config.run.lease_s)
        on_recovered = await opening.open_listeners()
        hands = await opening.build_environments().open_hands()
        policy, hooks = await opening.open_guards(hands.here)
        yield RunContext(
            directory=location.directory,
            journal=journal,
            live=live,
            lock=lock,
            landing_fence=epoch,
            repository=location.repository,
            hands=hands.work,
            gate=opening.build_gate(hands.checks, hands.before),
            baseline_hands=hands.before,
            lend_hands=hands.lend_wider,
            repeats=None if recipe else opening.build_repeat_runner(hands.checks),
            mutants=None if recipe else opening.build_mutant_runner(hands.checks),
            forge=overrides.wrap_forge(await stack.enter_async_context(opening.open_forge())),
            roles=await opening.open_roles(hooks, policy),
            hooks=hooks,
            on_recovered=on_recovered,
            action_order=overrides.pace,
            field_guide=opening.open_field_guide(),
            has_worker=partial(_has_worker, opening.config),
            policy=policy,
        )


def _load_recipe(state: RunState) -> Recipe | None:
    """Return the recipe that the run goes on by; None for a goal."""
    recipe = state.migration.wished_recipe
    return require_valid_recipe(recipe) if recipe else None


async def _has_worker(config: Config) -> bool:
    """Return True if the user has named a worker model that exists, as far as can be told without a call."""
    if config.roles.worker.engine != LOOP:
        return True
    if config.roles.worker.model == load_config(None, {}).config.roles.worker.model:
        return False
    async with ModelRouter(Path()) as router:
        return not await find_model_problems(config.roles, router, ("worker",))


async def _open_journal(
    location: RunLocation, watcher: RunWatcher | None, overrides: RunOverrides, stack: AsyncExitStack
) -> Journal:
    crash_point("engine.before-claim")
    open_journal = overrides.open_journal
    if open_journal is Journal:
        open_journal = partial(Journal, known=location.known)
    journal = await to_thread.run_sync(open_journal, location.directory.path, SystemClock())
    crash_point("engine.after-claim")
    stack.callback(journal.close)
    if journal.state.started is not None:
        journal.redactor = await to_thread.run_sync(build_redactor, LiveConfig(journal.state).current)
    stack.callback(JournalMaintenance(journal).close)
    await stack.enter_async_context(flush_beside(journal))
    journal.projections.update(build_projections(location.directory.journal))
    if watcher:
        journal.listeners.append(watcher.on_event_recorded)
        watcher.on_run_opened(journal.state)
    await journal.append(build_engine_started(journal.epoch))
    return journal


async def _raise_fence(location: RunLocation, journal: Journal) -> LandingFence:
    """Raise the landing fence on refs that can be written; a git problem is recorded as the reason for the stop."""
    try:
        await repair_refs(location.repository.git, journal)
        return await raise_landing_fence(location.repository.git, journal)
    except GitError as error:
        problem = convert_error(error)
        if problem is None or isinstance(error, RefMoved):
            raise
        await journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
        raise problem from error


@dataclass(frozen=True)
class _RunOpening:
    """A run that is being opened, whose journal is open already. What needs closing goes onto the stack."""

    location: RunLocation
    overrides: RunOverrides
    stack: AsyncExitStack
    lock: RunLock
    journal: Journal
    live: LiveConfig
    config: Config
    recipe: Recipe | None

    async def open_listeners(self) -> Callable[[], None]:
        """Let traces and notifications follow the journal; return what is to be called once recovery is through."""
        location, config, journal = self.location, self.config, self.journal
        telemetry = run_telemetry(journal, config, is_sending=self.overrides.client is None)
        await self.stack.enter_async_context(telemetry)
        notifications = run_notifications(config, journal, location.directory.journal, location.repository.root)
        return await self.stack.enter_async_context(notifications)

    def build_environments(self) -> RunEnvironments:
        """Return what opens the hands of the run."""
        deps = self.overrides.deps or self.location.state.path / DEPS_DIRECTORY
        return RunEnvironments(self.location, self.journal, self.config, self.recipe, deps, self.stack)

    async def open_guards(self, hands: Hands) -> tuple[PolicyGuard, Hooks]:
        """Open the policy, and the configured hooks behind what it says of landings.

        A policy that cannot be kept is recorded as the reason for the stop.

        Raises:
            UsageProblem: a file of it cannot be used.
        """
        git, base, is_replay = self.location.repository.git, self.journal.state.run.base, self.overrides.is_replay
        try:
            guard = await open_policy(self.journal, git, base, lambda: self.live.current, is_replay=is_replay)
        except UsageProblem as problem:
            await self.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
            raise
        guard.asks_before_landing = self.overrides.asks_before_landing
        return guard, PolicyHooks(self._build_hooks(hands), guard, self.journal.state)

    def _build_hooks(self, hands: Hands) -> Hooks:
        """Return the hooks that are configured."""
        hooks, repository = self.config.hooks, self.location.repository
        trace = choose_hook_trace(self.config.telemetry)
        return HookRunner(hooks, self.journal, hands, repository.git, repository.root, trace) if hooks else NO_HOOKS

    def open_forge(self) -> AbstractAsyncContextManager[Forge]:
        """Open the forge that pull requests go to."""
        place, config = self.location.state.path / "prs", self.config
        return open_forge(self.location.repository, place, config, self.journal.state, self._record_notice)

    async def _record_notice(self, text: str) -> None:
        await self.journal.append(Noticed(level="info", text=text))

    def build_gate(self, hands: Hands, before: Hands | None) -> HarnessGate:
        """Return the gate; `before` are the baseline's hands if it has its own."""
        checks = self.recipe.build_checks() if self.recipe else self.config.gate.build_checks()
        base_runner = self._build_check_runner(before) if before else None
        read_changes = None if self.recipe else self._read_changes
        return HarnessGate(
            self._build_check_runner(hands),
            self.journal,
            checks,
            None if self.recipe else select_by_keyword,
            baseline_runner=base_runner,
            rerun_s=self.config.gate.rerun_s,
            read_changes=read_changes,
        )

    async def _read_changes(self, tree: TreeId) -> Sequence[ChangedFile]:
        from orchestrator.engine.judging.candidate_changes import read_changed_files  # among the later steps

        return await read_changed_files(self.location.repository.git, self.journal.state.run.base_tree, tree)

    def build_repeat_runner(self, hands: Hands) -> RepeatRunner | None:
        """Return what runs the tests of a green change many times over; None without a gate."""
        checks = self.config.gate.build_checks()
        return RepeatRunner(self._build_check_runner(hands), self.journal, checks[0]) if checks else None

    def build_mutant_runner(self, hands: Hands) -> MutantRunner | None:
        """Return what runs tests on mutants of a green change; None without a gate."""
        checks = self.config.gate.build_checks()
        return MutantRunner(self._build_check_runner(hands), self.journal, checks[0]) if checks else None

    def _build_check_runner(self, hands: Hands) -> CheckRunner:
        output_bytes = self.config.hands.output_mb * 1024 * 1024
        canaries, archive = self.config.gate.canaries, self._open_receipts()
        return CheckRunner(hands, self.journal, output_bytes, has_canaries=canaries, archive=archive)

    def _open_receipts(self) -> ReceiptDirectory | None:
        """Return the receipts of earlier runs; None for a migration, and where commands could write them themselves."""
        gate, is_unsafe = self.config.gate, self.config.hands.without_sandbox or self.journal.state.is_unsafe
        if self.recipe or is_unsafe or not gate.reuse_days:
            return None
        return ReceiptDirectory.open_for(self.location.state.path, gate.reuse_days, gate.reuse_mb)

    def open_field_guide(self) -> GuideFile | None:
        """Return the field guide of the repository; None where nothing is to be remembered, or for a migration."""
        return open_field_guide(self.location.state.path, self.journal.state, self.config, self.lock)

    async def open_roles(self, hooks: Hooks, policy: PolicyGuard) -> ModelRoles | None:
        """Open the roles on their models; None for a recipe without models.

        Raises:
            UsageProblem: the directory of prompts cannot be used.
        """
        if self.recipe and not self.recipe.needs_models:
            return None
        config, journal, client = self.config, self.journal, self.overrides.client
        tier_grants, codebase = RunTierGrants(lambda: self.live.current, journal, policy), self._open_codebase()
        prompts = (await load_configured_prompts(config)).replace_prompts(self.overrides.prompts)
        rules = RepositoryRules(self.location.repository.git, journal.state.run.base, config.rules.files)
        has_memory = self.open_field_guide() is not None
        servers = self.overrides.servers or open_tool_servers(config)
        sources = AgentSources(prompts, rules, codebase, has_memory, policy, servers)
        if client is not None:
            return ModelRoles(role_wiring.build_unlimited_context(config, journal, client, hooks, tier_grants, sources))
        connect = partial(build_litellm_client, config)
        if needs_providers(config.roles):
            start_loading_models()
        models = ModelRouter(self.location.directory.path, role_wiring.count_model_replies(journal.state), connect)
        router = await self.stack.enter_async_context(models)
        if pauses := tuple(role_wiring.list_provider_pauses(journal.state)):
            await journal.append(*pauses)
        around = role_wiring.build_role_context(
            config, journal, router, hooks, lambda: self.live.current.budget, tier_grants, sources=sources
        )
        return ModelRoles(around)

    def _open_codebase(self) -> Codebase | None:
        """Return what agents look around in; None for a migration."""
        if self.recipe:
            return None
        state, place = self.journal.state, self.location.state.path
        return open_codebase(
            self.location.repository.git, state.run.base, place, self.config, is_unsafe=state.is_unsafe
        )
