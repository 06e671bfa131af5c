"""After a process died: compare what it had begun with what git and the journal say, and make the state whole.

Every effect has an intent before and a done event after. An intent without its done is settled here, by kind:
`orchestrator.domain.effects.EFFECTS` says what is done about each kind, and `docs/effects.md` shows it to users.
"""

from orchestrator.agent.model_calls import build_call_failure
from orchestrator.crash import crash_point
from orchestrator.domain.event import Event, Intent
from orchestrator.domain.event.external import NotificationSending, NotificationSent, PushFinished, PushStarted
from orchestrator.domain.event.forge import PrMerged, PrMerging
from orchestrator.domain.event.landing import LandingFinished, LandingStarted, RewindStarted
from orchestrator.domain.event.run import EffectAbandoned
from orchestrator.domain.event.work import ModelCalled, ToolCalled
from orchestrator.engine.context import RunContext
from orchestrator.engine.goal.restart import build_next_events, finish_rewind
from orchestrator.engine.pull_request.local_merge import has_local_merge_arrived
from orchestrator.engine.pull_request.proposal import has_push_arrived
from worktrees.object_store.merge import is_ancestor
from worktrees.object_store.packs import find_existing_objects


async def settle_open_intents(context: RunContext) -> None:
    """Settle every open intent. The run's lock and its fence see to it that no other process is at any of them."""
    crash_point("recovery.before")
    for intent in list(context.state.open_intents.values()):
        if isinstance(intent, RewindStarted) and await context.branch.has_left(intent.old, intent.new):
            await context.journal.append(finish_rewind(intent), *build_next_events(context.state, intent))
        else:
            await context.journal.append(await _settle_intent(context, intent))
    crash_point("recovery.after")


async def _settle_intent(context: RunContext, intent: Intent) -> Event:
    match intent:
        case ModelCalled():
            return build_call_failure(intent, "lost", "the engine died during the call; it may have been billed")
        case LandingStarted() if await _has_landed(context, intent):
            return LandingFinished(**intent.model_dump(include={"key", "branch", "new", "tree", "units", "parts"}))
        case PushStarted() if await has_push_arrived(context, intent):
            return PushFinished(**intent.model_dump(include={"key", "remote", "branch", "commit"}))
        case PrMerging() if await has_local_merge_arrived(context, intent):
            return PrMerged(**intent.model_dump(include={"key", "forge", "ref", "commit", "new"}))
        case NotificationSending() if intent.channel != "dir":
            detail = "the engine died while it was being sent"
            same = intent.model_dump(include={"key", "channel", "through"})
            return NotificationSent(**same, is_sent=None, detail=detail)
        case ToolCalled(is_repeatable=False):
            reason = f"the engine died during the call: it is unknown if {intent.server} carried it out; not repeated"
            return EffectAbandoned(task=intent.task, key=intent.key, reason=reason)
        case _:
            return EffectAbandoned(task=intent.task, key=intent.key, reason="the engine died before it was done")


async def _has_landed(context: RunContext, landing: LandingStarted) -> bool:
    """Return True if the branch holds the landing's commit; one that git has pruned has not landed."""
    git, tip = context.repository.git, await context.branch.read_tip(landed=None)
    if tip is None or not await find_existing_objects(git, [landing.new]):
        return False
    return await is_ancestor(git, landing.new, tip)
