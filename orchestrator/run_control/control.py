"""Find a run: its location, its state, and if an engine should work on it; send it commands, start its engine.

An engine is a process of its own, which outlives whoever started it.
"""

import os
import subprocess
from dataclasses import dataclass, field
from getpass import getuser
from typing import Any
from uuid import uuid4

from orchestrator.config.layers import ConfigLayer, refuse_zero_budgets
from orchestrator.config.live_config import build_effective_config
from orchestrator.domain.commands.answers import Answer, build_answer_event
from orchestrator.domain.commands.definitions import Approve, Command, Configure, Continue, InboxCommand, Retry
from orchestrator.domain.commands.goal import CONTRACT_FROZEN_REFUSAL, apply_command, explain_refusal
from orchestrator.domain.fold.run import apply_run_event
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.run.state import RunState
from orchestrator.engine.goal.plan_answers import build_plan_events, explain_edit_refusal
from orchestrator.engine.recovery.ref_repair import needs_ref_repair
from orchestrator.errors import EnvironmentProblem, RunLocked, UsageProblem
from orchestrator.hands.sandbox.no_sandbox_in_ci import refuse_in_ci
from orchestrator.journal.journal import SystemClock
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.locations.run_lock import find_lock_owner
from orchestrator.journal.state.derivation import DerivedState, read_state, read_whole_state
from orchestrator.project.options import Options, open_places, resolve_script_paths
from orchestrator.project.secrets import build_redactor, require_secret_free_values
from orchestrator.run_control.notifications import has_pending_notifications
from orchestrator.run_control.prepared_engine import (
    EngineOrders,
    PreparedEngine,
    build_engine_environment,
    build_engine_words,
)
from worktrees.repositories.repository import GitRepository


def send_command(directory: RunDirectory, command: Command, key: str = "", by: str = "") -> str:
    """Leave a command in a run's inbox and return its key; the engine acts on it, now or when one is started."""
    sent = build_inbox_command(command, key, by)
    directory.inbox.send_command(sent)
    return sent.key


def build_inbox_command(command: Command, key: str = "", by: str = "") -> InboxCommand:
    """Return a command as it is left for an engine: from this user, with a key of its own, unless others are given."""
    return InboxCommand(key=key or uuid4().hex, at=SystemClock().now(), by=by or get_user_name(), command=command)


def get_user_name() -> str:
    """Return the name of whoever gives commands here."""
    try:
        return getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


@dataclass(frozen=True)
class RunLocation:
    """The location of a run: its repository, the state directory for that, and the run's own directory."""

    repository: GitRepository
    state: StateDirectory
    directory: RunDirectory
    known: DerivedState | None = field(default=None, repr=False, compare=False)
    """The run as it was read when it was located, for whoever works on it."""


def find_run(options: Options, wanted: str | None) -> tuple[RunLocation, RunState]:
    """Return the location and state of a run of a repository. Blocks.

    Raises:
        UsageProblem: there is no such run, or it stopped before its first event.
    """
    repository, state = open_places(options)
    directory = state.find_run(wanted)
    known = read_whole_state(directory.journal)
    if known.state.started is None:
        raise UsageProblem(f"run {directory.run} stopped before its first event: start it anew")
    return RunLocation(repository, state, directory, known), known.state


def prepare_resume(options: Options, wanted: str | None, *, may_reopen: bool = True) -> tuple[RunLocation, RunState]:
    """Return the location and state of a run that is to be resumed. Blocks.

    What `options.flags` say of its settings holds from now on. If it ended because what landed could not be judged, it
    is judged again where it `may_reopen`.

    Raises:
        UsageProblem: there is no such run, or the settings are wrong.
        RunLocked: an engine works on it, which has been told of the settings.
    """
    location, state = find_run(options, wanted)
    if "contract" in options.flags:
        raise UsageProblem(CONTRACT_FROZEN_REFUSAL)
    after = predict_state(location, state)
    is_reopened = may_reopen and after.is_unjudged
    if state.is_unsafe and (state.ended is None or is_reopened):
        refuse_in_ci(os.environ)
    settings = {key: value for key, value in options.flags.items() if key != "state"}
    if settings and (owner := find_lock_owner(location.directory.path)) is not None:
        send_command(location.directory, Configure(settings=_validate_settings(state, settings)))
        text = f"run {location.directory.run} is being worked on by {owner}, which takes the settings given here"
        raise RunLocked(text)
    if is_reopened:
        send_command(location.directory, Retry(task=ROOT_TASK))
    goes_on = after.ended is None or is_reopened
    if goes_on and after.user_pause is not None:
        send_command(location.directory, Continue())
    if goes_on and settings:
        send_command(location.directory, Configure(settings=_validate_settings(state, settings)))
    return location, state


def predict_state(location: RunLocation, state: RunState) -> RunState:
    """Return the state of a run once the next engine has taken what waits in its inbox. Blocks."""
    waiting = [sent for _, sent in location.directory.inbox.iterate_commands() if sent.key not in state.taken_commands]
    if not waiting:
        return state
    after = read_state(location.directory.journal)
    for sent in waiting:
        if explain_refusal(after, sent.command) or explain_edit_refusal(after, sent.command):
            continue
        apply_command(after, sent.command, sent.by)
        if isinstance(sent.command, Answer) and (answered := build_answer_event(after, sent.command, sent.by)):
            edited = sent.command.plan if isinstance(sent.command, Approve) else None
            for event in (answered, *build_plan_events(after, answered, edited)):
                apply_run_event(event, after)
    return after


def _validate_settings(state: RunState, settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings that are valid together with the run's, with scripts named by absolute paths."""
    refuse_zero_budgets(ConfigLayer("flag", settings))
    config = build_effective_config(state, settings)
    if config.hands.without_sandbox and not state.is_unsafe:
        raise UsageProblem("hands.without_sandbox: a run that began with a sandbox goes on with one; begin another run")
    require_secret_free_values("configuration", settings, build_redactor(config))
    if state.run.recipe is None and not config.gate.build_checks():
        raise UsageProblem("gate.command: a run without a gate could not be judged: name another command")
    if "roles" in settings:
        roles = resolve_script_paths(config).model_dump(mode="json", by_alias=True)["roles"]
        return settings | {"roles": {name: roles[name] for name in settings["roles"]}}
    return settings


def needs_engine(location: RunLocation, state: RunState) -> bool:
    """Return True if there is anything for an engine to do.

    A run that has ended may still owe somebody a word, and have refs that a power cut has left broken. Blocks.
    """
    if state.ended is None or any(location.directory.inbox.iterate_commands()):
        return True
    if needs_ref_repair(location.repository.git, state):
        return True
    return has_pending_notifications(build_effective_config(state), state, location.directory.journal)


def start_engine(
    location: RunLocation, *, outlives_us: bool = True, prepared: PreparedEngine | None = None
) -> "subprocess.Popen[bytes]":
    """Start a process that works on the run; it belongs to no terminal, and what it prints goes to the run's log.

    Unless it `outlives_us` it stops when this process is gone, however that came. One that is `prepared` gets the run.

    Raises:
        EnvironmentProblem: it could not be started.
    """
    parent = None if outlives_us else os.getpid()
    run, repository, state = location.directory.run, str(location.repository.root), str(location.state.path.parent)
    if prepared is not None:
        orders = EngineOrders(False, run, repository, state, str(location.directory.engine_log), parent)
        engine = prepared.hand_over_run(orders)
        if engine is not None:
            return engine
    options = ["--repo", repository, "--state", state]
    if parent is not None:
        options += ["--while", str(parent)]
    try:
        with location.directory.engine_log.open("ab") as log:
            return subprocess.Popen(
                build_engine_words(run, *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=build_engine_environment(),
            )
    except OSError as error:
        raise EnvironmentProblem(
            f"no engine could be started: cannot write {error.filename}: {error.strerror}; make the state directory "
            "writable, or choose another with --state DIR"
        ) from error
