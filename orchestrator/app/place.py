"""A run as its callers find it: where it is, where it stands, and whether anybody should work on it."""

import os
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from orchestrator.app.options import Options, open_repository, state_directory, with_absolute_scripts
from orchestrator.app.outlets import owes
from orchestrator.app.secrets import redactor_for, require_clean
from orchestrator.app.telling import tell
from orchestrator.config.effective import effective
from orchestrator.config.layers import load
from orchestrator.domain.command import Configure, Continue
from orchestrator.domain.commanded import FROZEN, obey, refusal
from orchestrator.domain.state import RunState
from orchestrator.engine.ref_repair import need_repair
from orchestrator.errors import RunLocked, UsageProblem
from orchestrator.hands.unwatched import refuse_in_ci
from orchestrator.journal.lock import holder
from orchestrator.journal.runs import RunDirectory, StateDirectory
from orchestrator.journal.states import read_state
from worktrees.repository import Repository


@dataclass(frozen=True)
class Place:
    """Where a run is: its repository, what is kept for that, and the run's own directory."""

    repository: Repository
    state: StateDirectory
    directory: RunDirectory


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


def is_due(place: Place, state: RunState) -> bool:
    """Return True if there is anything for an engine to do.

    A run that has ended may still owe somebody a word, and have refs that a power cut has left broken. Blocks.
    """
    if state.ended is None or any(place.directory.inbox.waiting()) or need_repair(place.repository.git, state):
        return True
    return owes(effective(state), state, place.directory.journal)
