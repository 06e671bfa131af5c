"""What the command line can ask for: run a goal, migrate, resume."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from anyio import to_thread

from orchestrator.app.options import (
    Options,
    Surroundings,
    look_around,
    open_repository,
    state_directory,
    with_absolute_scripts,
)
from orchestrator.app.outlets import owes
from orchestrator.app.wiring import Watcher, Wiring, open_run
from orchestrator.config.layers import load, merged
from orchestrator.config.model import Config
from orchestrator.domain.event.run import RunPaused
from orchestrator.domain.fold import fold
from orchestrator.domain.ids import CommitId
from orchestrator.domain.state import RunState
from orchestrator.engine.begin import NewRun, first_events
from orchestrator.engine.context import RunContext
from orchestrator.engine.points import after_run, before_run
from orchestrator.engine.recover import recover
from orchestrator.engine.run import GoalRun
from orchestrator.errors import EnvironmentProblem, JournalProblem, OrchestrateError, UsageProblem, as_ours
from orchestrator.journal.journal import SystemClock
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.store import read_all
from orchestrator.llm.router import ModelRouter
from orchestrator.migrate.drive import MigrationRun
from orchestrator.migrate.inventory import take_inventory
from orchestrator.migrate.recipe import Recipe
from roles.kit import model_problems
from worktrees.errors import GitError


@dataclass(frozen=True)
class Ended:
    """A run that this process has left: at its end, or before it because of `error`."""

    directory: RunDirectory
    state: RunState
    error: OrchestrateError | None = None

    @property
    def exit_code(self) -> int:
        """What the process leaves with."""
        if self.error is not None:
            return self.error.exit_code
        return self.state.ended.exit if self.state.ended else 1


async def run_goal(options: Options, goal: str, watcher: Watcher | None = None) -> Ended:
    """Carry a goal to its end.

    Raises:
        OrchestrateError: the run could not be started; nothing was changed.
    """
    around = await to_thread.run_sync(look_around, options)
    checks = around.config.gate.checks()
    if not checks:
        raise UsageProblem(
            'no gate is configured, so nothing could be judged: give --gate "COMMAND", or set command under [gate]'
        )
    await require_models(around.config)
    wiring = await _begin(around, NewRun("goal", goal, around.config.pr.prefix))
    return await _carry_out(replace(wiring, checks=checks, watcher=watcher))


async def migrate(options: Options, recipe: Recipe, watcher: Watcher | None = None) -> Ended:
    """Carry a migration to its end.

    Raises:
        OrchestrateError: it could not be started, or the recipe matches nothing; nothing was changed.
    """
    around = await to_thread.run_sync(look_around, options)
    base = CommitId(around.repository.head())
    found = await take_inventory(around.repository.git, base, recipe)
    new = NewRun("migration", recipe.title, f"migrate/{recipe.migration.id}/", recipe.dump(), found)
    wiring = await _begin(around, new)
    return await _carry_out(replace(wiring, checks=recipe.checks(), env=recipe.env, with_models=False, watcher=watcher))


async def resume(options: Options, wanted: str | None, watcher: Watcher | None = None) -> Ended:
    """Go on with a run that stopped before its end; one that has ended is only reported.

    Settings are those the run began with, but for what `options.flags` say now.

    Raises:
        OrchestrateError: there is no such run, or another process works on it.
    """
    repository = await to_thread.run_sync(open_repository, options.repository)
    where = state_directory(repository, load(None, {"state": options.flags.get("state", {})}).config.state.dir)
    directory = where.find(wanted)
    state = await to_thread.run_sync(lambda: fold(read_all(directory.journal)))
    if state.started is None:
        raise UsageProblem(f"run {directory.run} stopped before its first event: start it anew")
    config = with_absolute_scripts(Config.model_validate(merged(state.run.settings, options.flags)))
    if state.ended and not await to_thread.run_sync(owes, config, state, directory.journal):
        return Ended(directory, state)
    recipe = Recipe.model_validate(state.run.recipe) if state.run.recipe else None
    return await _carry_out(
        Wiring(
            repository=repository,
            config=config,
            state=where,
            directory=directory,
            checks=recipe.checks() if recipe else config.gate.checks(),
            env=recipe.env if recipe else None,
            with_models=recipe is None,
            watcher=watcher,
        )
    )


async def require_models(config: Config, *roles: str) -> None:
    """Make sure that the configured models exist as far as can be told without a call.

    Raises:
        EnvironmentProblem: names each role's problem and how to mend it.
    """
    async with ModelRouter(Path()) as router:
        problems = await model_problems(config.roles, router, roles)
    if problems:
        raise EnvironmentProblem("\n".join(problems))


async def _begin(around: Surroundings, new: NewRun) -> Wiring:
    now = SystemClock().now()
    directory = around.state.new_run(now)
    first = await first_events(new, directory.run, around.repository, around.config, now)
    return Wiring(
        repository=around.repository,
        config=around.config,
        state=around.state,
        directory=directory,
        checks=(),
        first=first,
    )


async def _carry_out(wiring: Wiring) -> Ended:
    """Work on a run until it ends or something stops it; why it stopped is the last thing recorded."""
    async with open_run(wiring) as context:
        try:
            await recover(context)
            context.recovered()
            await _execute(context)
        except (OrchestrateError, GitError, OSError) as error:
            problem = as_ours(error)
            if problem is None:
                raise
            if not isinstance(problem, JournalProblem):
                await context.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
            return Ended(wiring.directory, context.state, problem)
        return Ended(wiring.directory, context.state)


async def _execute(context: RunContext) -> None:
    if context.state.ended is None:
        await before_run(context)
        await _work(context)
    await after_run(context)


async def _work(context: RunContext) -> None:
    if context.state.run.recipe is not None:
        slots = context.config.hands.slots or len(os.sched_getaffinity(0))
        await MigrationRun(context, Recipe.model_validate(context.state.run.recipe), slots).execute()
    elif context.roles is not None:
        await GoalRun(context, context.roles).execute()
