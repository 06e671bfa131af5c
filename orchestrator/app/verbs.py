"""What the command line can ask for: begin a goal or a migration, go on with a run, work on it in this process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Any
from uuid import uuid4

from anyio import to_thread
from pydantic import ValidationError

from orchestrator.app.contract import notice_another_contract
from orchestrator.app.options import (
    Options,
    Surroundings,
    grant,
    look_around,
    open_repository,
    state_directory,
    with_absolute_scripts,
)
from orchestrator.app.outlets import owes
from orchestrator.app.recipe_limits import limited
from orchestrator.app.secrets import redactor_for, require_clean, require_no_secret
from orchestrator.app.surveying import surveyed
from orchestrator.app.wiring import Place, Watcher, open_run, require_push
from orchestrator.config.effective import effective
from orchestrator.config.layers import load
from orchestrator.config.model import Config
from orchestrator.domain.command import Command, Configure, Continue, Sent
from orchestrator.domain.commanded import FROZEN, obey, refusal
from orchestrator.domain.event import Event
from orchestrator.domain.event.run import RunPaused
from orchestrator.domain.state import RunState
from orchestrator.engine.begin import NewRun, first_events
from orchestrator.engine.context import RunContext
from orchestrator.engine.desk import Desk
from orchestrator.engine.finish import end_run
from orchestrator.engine.points import after_run, before_run
from orchestrator.engine.recover import recover
from orchestrator.engine.run import GoalRun
from orchestrator.errors import (
    EnvironmentProblem,
    JournalProblem,
    OrchestrateError,
    Replaced,
    RunCancelled,
    RunLocked,
    UsageProblem,
    as_ours,
)
from orchestrator.hands.local import local_hands
from orchestrator.hands.policy import Grant
from orchestrator.hands.unconfined import refuse_in_ci
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.lock import holder
from orchestrator.journal.runs import RunDirectory
from orchestrator.journal.states import read_state
from orchestrator.llm.router import ModelRouter
from orchestrator.migrate.asked import EVERYTHING, Asked
from orchestrator.migrate.drive import MigrationRun
from orchestrator.migrate.judging.worlds import WORLDS, env_of
from orchestrator.migrate.recipe import Recipe, RecipeEnv
from orchestrator.migrate.scope.ast_grep import programs
from orchestrator.redact.redactor import PATTERNS, Redactor
from roles.kit import model_problems
from worktrees.errors import GitError
from worktrees.refs import read_ref


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


async def begin_goal(options: Options, goal: str) -> Place:
    """Make a run that is to carry a goal to its end; nothing works on it yet.

    Raises:
        OrchestrateError: it cannot be started; nothing was changed.
    """
    around = await to_thread.run_sync(look_around, options)
    if not around.config.gate.checks():
        raise UsageProblem(
            'no gate is configured, so nothing could be judged: give --gate "COMMAND", or set command under [gate]'
        )
    await require_models(around.config)
    await require_push(around.repository, around.config)
    return await begin_run(around, NewRun("goal", goal, around.config.pr.prefix), grant(around.config))


async def begin_migration(options: Options, recipe: Recipe, asked: Asked = EVERYTHING) -> Place:
    """Make a run that is to carry a migration, or what of it is asked for, to its end; nothing works on it yet.

    Raises:
        OrchestrateError: it cannot be started, or the recipe or what is asked for matches nothing; nothing was changed.
    """
    around = await to_thread.run_sync(look_around, options)
    if roles := tuple(recipe.asks):
        await require_models(around.config, *roles)
    recipe = asked.of(recipe)
    around = limited(around, recipe.stop)
    base, found = await surveyed(around, recipe, asked)
    target = await _branch(around, recipe.migration.base)
    new = NewRun("migration", recipe.title, f"migrate/{recipe.migration.id}/", recipe.dump(), found, base, target)
    return await begin_run(around, new, *grants(around.config, recipe))


def grants(config: Config, recipe: Recipe) -> list[Grant]:
    """What the worlds of a migration are allowed in the sandbox; one if they are the same."""
    worlds = dict.fromkeys(env_of(recipe.env, world).model_dump_json() for world in WORLDS)
    envs = [RecipeEnv.model_validate_json(world) for world in worlds]
    return [grant(config, env, programs(recipe)) for env in envs]


async def _branch(around: Surroundings, name: str) -> str:
    """The name, if it is that of a branch."""
    return name if name and await read_ref(around.repository.git, f"refs/heads/{name}") else ""


async def run_goal(options: Options, goal: str, watcher: Watcher | None = None) -> Ended:
    """Carry a goal to its end in this process; raises as `begin_goal` does."""
    return await work(await begin_goal(options, goal), watcher)


async def migrate(options: Options, recipe: Recipe, watcher: Watcher | None = None, asked: Asked = EVERYTHING) -> Ended:
    """Carry a migration to its end in this process; raises as `begin_migration` does."""
    return await work(await begin_migration(options, recipe, asked), watcher)


async def resume(options: Options, wanted: str | None, watcher: Watcher | None = None) -> Ended:
    """Go on with a run in this process; one that has ended, and that no command waits for, is only reported.

    Raises:
        RunLocked: another process works on it.
        UsageProblem: as `to_be_resumed` says.
    """
    place, state = await to_thread.run_sync(to_be_resumed, options, wanted)
    if not is_due(place, state):
        return Ended(place.directory, state)
    return await work(place, watcher)


def is_due(place: Place, state: RunState) -> bool:
    """Whether there is anything for an engine to do; a run that has ended may still owe somebody a word."""
    if state.ended is None or any(place.directory.inbox.waiting()):
        return True
    return owes(effective(state), state, place.directory.journal)


def find_run(options: Options, wanted: str | None) -> tuple[Place, RunState]:
    """A run of a repository and where it stands. Blocks.

    Raises:
        UsageProblem: there is no such run, or it stopped before its first event.
    """
    repository = open_repository(options.repository)
    state = state_directory(repository, load(None, {"state": options.flags.get("state", {})}).config.state.dir)
    place = Place(repository, state, state.find(wanted))
    found = read_state(place.directory.journal)
    if found.started is None:
        raise UsageProblem(f"run {place.directory.run} stopped before its first event: start it anew")
    return place, found


def to_be_resumed(options: Options, wanted: str | None) -> tuple[Place, RunState]:
    """A run that is to be gone on with, and where it stands. Blocks.

    What `options.flags` say of its settings holds from now on.

    Raises:
        UsageProblem: there is no such run, or the settings are wrong.
        RunLocked: an engine works on it, which has been told of the settings.
    """
    place, state = find_run(options, wanted)
    if "contract" in options.flags:
        raise UsageProblem(FROZEN)
    if state.is_unsafe and state.ended is None:
        refuse_in_ci(os.environ)
    settings = {key: value for key, value in options.flags.items() if key != "state"}
    after = foreseen(place, state)
    if settings and (working := holder(place.directory.path)) is not None:
        tell(place.directory, Configure(settings=_sound(state, settings)))
        told = f"run {place.directory.run} is being worked on by {working}, which takes the settings given here"
        raise RunLocked(told)
    if after.ended is None and after.held is not None:
        tell(place.directory, Continue())
    if after.ended is None and settings:
        tell(place.directory, Configure(settings=_sound(state, settings)))
    return place, state


def foreseen(place: Place, state: RunState) -> RunState:
    """The state of a run once the next engine has taken what waits in its inbox. Blocks."""
    waiting = [sent for _, sent in place.directory.inbox.waiting() if sent.key not in state.commands]
    if not waiting:
        return state
    after = read_state(place.directory.journal)
    for sent in waiting:
        if not refusal(after, sent.command):
            obey(after, sent.command, sent.by)
    return after


def tell(directory: RunDirectory, command: Command, key: str = "", by: str = "") -> str:
    """Leave a command in a run's inbox; the engine acts on it, now or when one is started. Gives the command's key."""
    sent = Sent(key=key or uuid4().hex, at=SystemClock().now(), by=by or user(), command=command)
    directory.inbox.send(sent)
    return sent.key


def user() -> str:
    """The name of whoever gives commands here."""
    try:
        return getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _sound(state: RunState, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that make a configuration together with the run's, with scripts named by absolute paths."""
    try:
        config = effective(state, settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageProblem(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if config.hands.without_sandbox and not state.is_unsafe:
        raise UsageProblem("hands.without_sandbox: a run that began with a sandbox goes on with one; begin another run")
    require_clean("configuration", settings, redactor_for(config))
    if state.run.recipe is None and not config.gate.checks():
        raise UsageProblem("gate.command: a run without a gate could not be judged: name another command")
    if "roles" in settings:
        roles = with_absolute_scripts(config).model_dump(mode="json", by_alias=True)["roles"]
        return settings | {"roles": {name: roles[name] for name in settings["roles"]}}
    return settings


async def require_models(config: Config, *roles: str) -> None:
    """Make sure that the configured models exist as far as can be told without a call.

    Raises:
        EnvironmentProblem: names each role's problem and how to mend it.
    """
    async with ModelRouter(Path()) as router:
        problems = await model_problems(config.roles, router, roles)
    if problems:
        raise EnvironmentProblem("\n".join(problems))


async def begin_run(around: Surroundings, new: NewRun, *allowed: Grant) -> Place:
    """Make a run; nothing works on it yet.

    Raises:
        EnvironmentProblem: this host has no sandbox for what it is allowed.
        UsageProblem: its PR branch cannot exist, or its settings hold a secret.
    """
    for one in allowed:
        async with local_hands(around.repository, around.state.path, one) as hands:
            if hands.refusal:
                raise EnvironmentProblem(hands.refusal)
    now = SystemClock().now()
    directory = around.state.new_run(now)
    first = await first_events(new, directory.run, around.repository, around.config, now)
    await create_run(directory, first, await to_thread.run_sync(redactor_for, around.config))
    return Place(around.repository, around.state, directory)


async def create_run(directory: RunDirectory, first: Sequence[Event], redactor: Redactor = PATTERNS) -> None:
    """Make a run's directory with a journal that holds its first events.

    Raises:
        UsageProblem: the settings hold a secret that the redactor knows.
    """
    for event in first:
        require_no_secret(event, redactor)
    with directory.lock():
        journal = await to_thread.run_sync(Journal, directory.path, SystemClock(), redactor)
        try:
            await journal.append(*first)
        finally:
            journal.close()


async def work(place: Place, watcher: Watcher | None = None) -> Ended:
    """Work on a run until it ends or something stops it; why it stopped is the last thing recorded.

    Raises:
        RunLocked: another process works on it.
    """
    async with open_run(place, watcher) as context:
        try:
            await recover(context)
            context.recovered()
            await notice_another_contract(context)
            await _execute(context)
        except (OrchestrateError, GitError, OSError) as error:
            problem = as_ours(error)
            if problem is None:
                raise
            if not isinstance(problem, JournalProblem | Replaced):
                await context.journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
            return Ended(place.directory, context.state, problem)
        return Ended(place.directory, context.state)


async def _execute(context: RunContext) -> None:
    if context.state.ended is None and not context.state.cancelled:
        await before_run(context)
        await _until_cancelled(context)
    if context.state.ended is None:
        await end_run(context, "cancelled", context.state.cancelled)
    await after_run(context)


async def _until_cancelled(context: RunContext) -> None:
    """Let the run go its way; on again where somebody has a task tried again as soon as the run was given up."""
    is_cancelled = True
    while is_cancelled and context.state.ended is None and not context.state.cancelled:
        try:
            await carry_out(context)
            is_cancelled = False
        except RunCancelled:
            await Desk(context.journal, context.directory.inbox).take_all()


async def carry_out(context: RunContext) -> None:
    """Let the run go its way to its end; raises as the two kinds of runs do."""
    if context.state.run.recipe is not None:
        slots = context.config.hands.slots or len(os.sched_getaffinity(0))
        await MigrationRun(context, slots).execute()
    elif context.roles is not None:
        await GoalRun(context, context.roles).execute()
