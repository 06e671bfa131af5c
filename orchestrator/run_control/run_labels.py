"""Change the labels of a run: by its engine, or, where it has ended, in its journal at once."""

from collections.abc import Mapping

import anyio

from orchestrator.config.live_config import build_effective_config
from orchestrator.domain.commands.definitions import Configure
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run_labels import LABELS_KEY, LABELS_TABLE
from orchestrator.engine.run_start import build_engine_started
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.project.secrets import build_redactor, require_secret_free_values
from orchestrator.report.projections import build_projections
from orchestrator.run_control.control import RunLocation, build_inbox_command


def build_label_command(state: RunState, labels: Mapping[str, str]) -> Configure:
    """Return the command that changes labels of a run; an empty value takes one away.

    Raises:
        UsageProblem: one of them is no label, or holds a secret.
    """
    settings = {LABELS_TABLE: {LABELS_KEY: dict(labels)}}
    config = build_effective_config(state, settings)
    require_secret_free_values("configuration", settings, build_redactor(config))
    return Configure(settings=settings)


def record_ended_run(location: RunLocation, state: RunState, command: Configure) -> RunState:
    """Record a command in the journal of a run that has ended, for which no engine is worth its start. Blocks.

    Raises:
        RunLocked: an engine works on it, which takes commands from its inbox.
    """
    with location.directory.hold_lock():
        return anyio.run(_append_command, location, state, command)


async def _append_command(location: RunLocation, state: RunState, command: Configure) -> RunState:
    sent = build_inbox_command(command)
    redactor = build_redactor(build_effective_config(state))
    journal = Journal(location.directory.path, SystemClock(), redactor)
    try:
        journal.projections.update(build_projections(location.directory.journal))
        taken = CommandTaken(key=sent.key, by=sent.by, sent_at=sent.at, command=command)
        await journal.append(build_engine_started(journal.epoch), taken)  # this process writes as an engine would
        return journal.state
    finally:
        journal.close()
