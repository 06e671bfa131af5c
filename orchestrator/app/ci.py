"""A job of a CI system: it takes up the run of its key where the job before left it, and leaves it for the next one."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread

from orchestrator.app.beginning import begin_goal, begin_migration
from orchestrator.app.ci_handover import asked_of, keep_asked
from orchestrator.app.ci_shelf import answered, shelve
from orchestrator.app.moving import receive
from orchestrator.app.options import Options, look_around
from orchestrator.app.place import Place, find_run, to_be_resumed
from orchestrator.app.recipe_limits import lower
from orchestrator.app.recipe_trust import load_recipe_to_run
from orchestrator.ci.handover import ARCHIVE, Handover, write_handover
from orchestrator.ci.outputs import JobEnd
from orchestrator.ci.shelf import Shelf, journal_ref, key_of, require_shelf
from orchestrator.ci.ticket import Ticket, claimed, lease_for, require_key
from orchestrator.config.layers import merged
from orchestrator.config.model import Config
from orchestrator.domain.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.hands.session import open_session
from orchestrator.journal.states import read_state
from orchestrator.migrate.recipe import Recipe, located
from orchestrator.portable import by_ref
from orchestrator.portable.export import export_run
from orchestrator.portable.importing import FurtherHere
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.remote import fetch_commits


@dataclass(frozen=True)
class Wish:
    """What a job is asked to do. Times are in seconds.

    `goal` or `recipe` is what to begin with where the key has no run yet; `wanted` names a run instead of the key.
    `limit_s` is this job's time. `holder` is what the CI system calls the job; after `stale_s` without a sign of life
    another job may take its place. With a `handover` directory instead of a `remote` the job reads what was fetched
    into the clone, and leaves the state in the directory, for another job that may push it.
    """

    holder: str
    key: str = ""
    wanted: str = ""
    goal: str = ""
    recipe: Path | None = None
    remote: str = ""
    handover: Path = Path()
    limit_s: float | None = None
    stale_s: float = 900.0
    max_hops: int | None = None
    is_anew: bool = False


@dataclass
class Job:
    """A job that has the key. `ticket` is what the key's next job would find; `until_s` is after how many seconds of
    work in all this one stops.
    """

    options: Options
    wish: Wish
    shelf: Shelf
    ticket: Ticket
    found: Ticket
    until_s: float | None = None

    @property
    def git(self) -> Git:
        """The clone's."""
        return self.shelf.git


async def claim(options: Options, wish: Wish) -> Job:
    """Take the key for this job.

    Raises:
        UsageProblem: there is no such key, run or remote.
        RunLocked: another job has it.
        LimitReached: as many jobs as may have had it.
        EnvironmentProblem: the remote cannot be reached.
    """
    around = await to_thread.run_sync(look_around, options)
    git = around.repository.git
    if wish.remote:
        await require_shelf(git, wish.remote)
    else:
        await to_thread.run_sync(partial(wish.handover.mkdir, parents=True, exist_ok=True))
    with answered(wish.remote):
        key = require_key(wish.key) if wish.key else await key_of(git, wish.remote, wish.wanted)
        shelf = Shelf(git, wish.remote, key)
        found = await shelf.look()
    now = datetime.now(UTC)
    before = Ticket(key=shelf.key, lease=found.lease) if wish.is_anew else found
    _require_asked(before, wish)
    ticket = claimed(before, lease_for(wish.holder, now, wish.stale_s), now, wish.max_hops)
    job = Job(_with_push(options, wish, around.config), wish, shelf, ticket, found.released())
    await _put(job, ticket)
    return job


def _require_asked(ticket: Ticket, wish: Wish) -> None:
    """There is something to do, and no doubt what."""
    if wish.wanted and not ((ticket.run or "").startswith(wish.wanted) or (ticket.run or "").endswith(wish.wanted)):
        raise UsageProblem(f"key {ticket.key} carries on run {ticket.run or 'none yet'}, not {wish.wanted!r}")
    if ticket.run is None and not (wish.goal or wish.recipe):
        raise UsageProblem(f"key {ticket.key} has no run to go on with: say what to begin, a GOAL or --recipe FILE")


def _with_push(options: Options, wish: Wish, config: Config) -> Options:
    """A PR branch that stays on a machine which is thrown away is no result: it is pushed where the state is.

    A job that hands over reaches nothing: its pull requests are asked for by the one that it hands over to.
    """
    apart = {"push": "", "forge": "local", "checks_wait_s": 0, "merge": "never"}
    return _flagged(options, {"pr": {"push": config.pr.push or wish.remote} if wish.remote else apart})


def _flagged(options: Options, more: Mapping[str, Any]) -> Options:
    return Options(options.repository, merged(options.flags, more), options.read_only, options.trust_project)


async def take_up(job: Job) -> tuple[Place, RunState]:
    """The run of the key, here: begun, or taken in from where the job before left it.

    Raises:
        OrchestrateError: it cannot be.
    """
    if job.ticket.run is None:
        return await _begin(job)
    if job.shelf.tips.get(journal_ref(job.ticket.run)) is None:
        raise UsageProblem(
            f"the state of run {job.ticket.run}, which key {job.ticket.key} carries on, is gone: there is no "
            f"{journal_ref(job.ticket.run)}; begin anew with --restart"
        )
    return await _take_in(job, job.ticket.run)


async def _begin(job: Job) -> tuple[Place, RunState]:
    options, wish = job.options, job.wish
    if wish.limit_s:
        options = _flagged(options, {"run": {"time_limit_s": wish.limit_s}})
        job.until_s = wish.limit_s
    if wish.recipe is not None:
        with located(wish.recipe):
            place = await begin_migration(options, await to_thread.run_sync(load_recipe_to_run, options, wish.recipe))
    else:
        place = await begin_goal(options, wish.goal)
    return place, await to_thread.run_sync(read_state, place.directory.journal)


async def _take_in(job: Job, run: str) -> tuple[Place, RunState]:
    """Its settings stay what they were, but for those that are this job's own and those that the job was given."""
    own = (await to_thread.run_sync(look_around, job.options)).config
    await _complete(job, run)
    with suppress(FurtherHere):  # a job died here after it had last left the state: what it recorded since is not lost
        await receive(job.options, None, run, own=own, trust_recipe=True)
    _, state = await to_thread.run_sync(find_run, job.options, run)
    if job.wish.goal and job.wish.goal != state.run.goal:
        raise UsageProblem(
            f"key {job.ticket.key} carries on run {run}, whose goal is another one: use another --key, leave GOAL out "
            "to go on, or begin anew with --restart"
        )
    flags = {key: value for key, value in job.options.flags.items() if key != "contract"}
    if job.options.read_only:
        flags = merged(flags, {"hands": {"read_only": list(own.hands.read_only)}})
    flags = merged(flags, {"run": {"time_limit_s": _limit(job, state, own)}})
    return await to_thread.run_sync(to_be_resumed, Options(job.options.repository, flags), run)


def _limit(job: Job, state: RunState, own: Config) -> float:
    """The time limit of a run that goes on, in seconds of work of all its jobs; a recipe only ever lowers it."""
    if job.wish.limit_s:
        job.until_s = state.wall_s + job.wish.limit_s
    recipe = Recipe.model_validate(state.recipe) if state.recipe else None
    return lower(job.until_s or own.run.time_limit_s, recipe.stop.wall_s if recipe else 0)


async def _complete(job: Job, run: str) -> None:
    """A clone of a job often has only the newest commit, and the run may rest on an older one."""
    lacking = await by_ref.lacking(job.git, run)
    if lacking and job.wish.remote:
        with suppress(GitError), answered(job.wish.remote):  # if that fails, the import tells what is missing
            await fetch_commits(job.git, job.wish.remote, lacking)


async def leave(job: Job, place: Place, end: JobEnd | None = None, summary: str = "") -> None:
    """Leave the run's state for the next job, also while an engine works on it; at the job's end also the key.

    Args:
        job: this job.
        place: the run.
        end: how the job ended, None while it works.
        summary: the run's summary as Markdown, for a handover.

    Raises:
        Superseded: another job has left another one.
        EnvironmentProblem: it cannot be exported, or the remote cannot be reached.
    """
    if not job.wish.remote:
        await keep_asked(job.git, await to_thread.run_sync(read_state, place.directory.journal))
    with open_session(place.state.path) as scratch:
        archive = scratch / ARCHIVE if job.wish.remote else job.wish.handover / ARCHIVE
        told = (await export_run(place.repository.git, place.directory, archive, scratch)).manifest
        ticket = job.ticket.of_run(told.run, told.events, is_ended=told.is_ended)
        ticket = ticket.released() if end else ticket.renewed(datetime.now(UTC), job.wish.stale_s)
        if job.wish.remote:
            with answered(job.wish.remote):
                await shelve(job.shelf, ticket, told, archive, scratch)
        else:
            await _hand_over(job, place, ticket.released(), end, summary)
    job.ticket = ticket


async def _hand_over(job: Job, place: Place, ticket: Ticket, end: JobEnd | None, summary: str) -> None:
    handover = Handover(ticket=ticket, tips=job.shelf.tips)
    if end is not None:
        state = await to_thread.run_sync(read_state, place.directory.journal)
        handover = Handover(
            ticket=ticket,
            tips=job.shelf.tips,
            status=end.status,
            exit=end.exit,
            reason=end.reason,
            resumable=end.is_resumable,
            cost_usd=end.cost_usd,
            pull_requests=await asked_of(job.git, state),
        )
    await to_thread.run_sync(write_handover, job.wish.handover, handover, summary)


async def beat(job: Job) -> None:
    """Give a sign of life.

    Raises:
        Superseded: another job has taken the key.
        EnvironmentProblem: the remote cannot be reached.
    """
    await _put(job, job.ticket.renewed(datetime.now(UTC), job.wish.stale_s))


async def let_go(job: Job) -> None:
    """Leave the key as it was found, because this job could not begin.

    Raises:
        EnvironmentProblem: the remote cannot be reached.
    """
    await _put(job, job.found)


async def _put(job: Job, ticket: Ticket) -> None:
    if job.wish.remote:
        with answered(job.wish.remote):
            await job.shelf.put(ticket)
    job.ticket = ticket
