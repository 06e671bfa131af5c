"""The one way to do something outside the journal: intent, effect, done, with a crash point between any two of them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from orchestrator.crash import crash_point
from orchestrator.domain.event import Done, Event, Intent
from orchestrator.domain.event.run import EffectAbandoned
from orchestrator.errors import JournalProblem, OrchestrateError, find_sole_error
from orchestrator.ports.ledger import Ledger
from worktrees.errors import GitError


@dataclass
class EffectInProgress:
    """An effect under way; the block that has it must set `done`. `extra_events` are recorded together with it."""

    done: Done | None = None
    extra_events: tuple[Event, ...] = ()


def build_abandoned_event(intent: Intent, reason: str) -> Done:
    """Return the end of an effect that did not happen, or of which nobody knows and it does not matter."""
    return EffectAbandoned(task=intent.task, key=intent.key, reason=reason)


@asynccontextmanager
async def record_effect(
    ledger: Ledger,
    intent: Intent,
    unsettled: tuple[type[Exception], ...] = (),
    lost: Callable[[Intent, str], Done] = build_abandoned_event,
    *,
    stages_done: bool = False,
) -> AsyncIterator[EffectInProgress]:
    """Record the intent, let the block do the effect, and record what it set as `done`.

    An error of ours or of git in the block, alone or in a group of such, or its being cancelled, is recorded as the
    event that `lost` makes, but for the errors in `unsettled`, whose end the caller records. Anything else leaves the
    intent open: recovery settles it.
    With `stages_done` the end is staged: the caller soon appends something, and that makes it durable too.

    Raises:
        JournalProblem: the intent could not be recorded, and nothing was done; or the effect happened and could not be.
    """
    name, happening = intent.effect, EffectInProgress()
    crash_point(f"{name}.before-intent")
    await ledger.append(intent)
    crash_point(f"{name}.after-intent")
    try:
        yield happening
    except (OrchestrateError, GitError, BaseExceptionGroup) as error:
        failure = find_sole_error(error) if isinstance(error, BaseExceptionGroup) else error
        if failure is not None and not isinstance(failure, (JournalProblem, *unsettled)):
            await ledger.append(lost(intent, str(failure)))
        raise
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            await ledger.append(lost(intent, "stopped before it was done"))
        raise
    if happening.done is None or happening.done.key != intent.key:
        raise ValueError(f"the effect {intent.key} was left without the event that tells of its end")
    crash_point(f"{name}.before-done")
    if stages_done:
        ledger.stage_events(happening.done, *happening.extra_events)
    else:
        await ledger.append(happening.done, *happening.extra_events)
    crash_point(f"{name}.after-done")
