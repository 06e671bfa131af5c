"""One line for one event: what `logs` prints, and what a run prints where there is no terminal."""

from functools import singledispatch

from orchestrator.domain.commands.definitions import AddCriterion, DropCriterion, StopCall
from orchestrator.domain.event import Event, RecordedEvent, external, forge, landing, migration, people, run, work
from orchestrator.domain.judging.check import GATE_VARIANTS
from orchestrator.domain.sandbox.network import describe_refused_hosts
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.ports.journal_search import SearchHit
from orchestrator.report.run.forge_checks import describe_pull_request_event

DETAIL_KINDS = {
    "tool.called",
    "model.called",
    "turn.ended",
    "workspace.leasing",
    "workspace.leased",
    "candidate.taking",
}
DETAIL_KINDS |= {"landing.started", "pr.opening", "merge.started", "close.started", "effect.abandoned"}
DETAIL_KINDS |= {"hook.started", "notification.sending", "notification.sent", "push.started"}
DETAIL_KINDS |= {"snapshot.taking", "snapshot.taken", "ref.setting", "ref.set"}
"""Events that only `logs --all` shows."""

_SHOWN = 400
_LOOKED_AT = 4_000
"""Characters of an event's words that are looked at for one line: an agent may say megabytes."""


def render_event_line(recorded: RecordedEvent) -> str:
    """`10:17:05  parser  attempt 1 (fresh) on openai/gpt-5`, without control characters."""
    if recorded.event.task:
        who = f"{recorded.event.task:20}  "
    else:
        who = ""
    text = strip_controls(describe_event(recorded.event)[:_LOOKED_AT]).replace("\n", " ⏎ ")
    return f"{recorded.at.astimezone():%H:%M:%S}  {who}{text[:_SHOWN]}"


def render_hit_line(hit: SearchHit) -> str:
    """`10:17:05  parser  turn 4  tool.returned  … 2 «failed» …`, without control characters."""
    if hit.turn is not None:
        turn = f"turn {hit.turn + 1}  "
    else:
        turn = ""
    text = strip_controls(hit.snippet).replace("\n", " ⏎ ")
    return f"{hit.at.astimezone():%H:%M:%S}  {f'{hit.task:20}  ' if hit.task else ''}{turn}{hit.kind}  {text}"


def shorten_model_name(model: str) -> str:
    """The name without the directories of a script."""
    kind, colon, path = model.partition(":")
    if colon and kind == "scripted":
        return f"scripted:{path.rpartition('/')[2]}"
    return model


@singledispatch
def describe_event(event: Event) -> str:
    """The event in words."""
    return event.kind


@describe_event.register
def _(event: run.RunStarted) -> str:
    return f"run {event.run}: {event.goal} (base {event.base[:12]}, branch {event.branch})"


@describe_event.register
def _(event: run.EngineStarted) -> str:
    return f"process {event.pid} on {event.host} works on the run (epoch {event.epoch})"


@describe_event.register
def _(event: run.Noticed) -> str:
    return f"{event.level}: {event.text}"


@describe_event.register
def _(event: run.CheckStarted) -> str:
    return f"testing {event.tree[:12]} for {event.purpose}"


@describe_event.register
def _(event: run.CheckFinished) -> str:
    receipt, counts = event.receipt, event.receipt.counts
    if receipt.tests is not None:
        told = f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors"
    else:
        told = f"exit {receipt.exit_code}"
    if receipt.status == "completed":
        ending = ""
    else:
        ending = f"{receipt.status}: "
    if receipt.kind in GATE_VARIANTS:
        how = f", {GATE_VARIANTS[receipt.kind]}"
    else:
        how = ""
    return f"tested  {receipt.tree[:12]}{how}: {ending}{told} ({receipt.seconds:.1f} s)"


@describe_event.register
def _(event: run.BaselineRecorded) -> str:
    return "baseline recorded"


@describe_event.register
def _(event: run.FlakesSeen) -> str:
    return f"flaky: {', '.join(event.flaky[:5])}{', …' * (len(event.flaky) > 5)} passed and failed on {event.tree[:12]}"


@describe_event.register
def _(event: run.ContractFrozen) -> str:
    return f"contract frozen: {', '.join(criterion.id for criterion in event.contract.criteria)}"


@describe_event.register
def _(event: run.IterationStarted) -> str:
    return f"iteration {event.number} begins" + (f": {'; '.join(event.reasons)}" if event.reasons else "")


@describe_event.register
def _(event: run.IterationJudged) -> str:
    unmet = ", ".join(finding.id for finding in event.verdict.findings if not finding.met)
    told = f" (not met: {unmet})" if unmet else ""
    return f"iteration {event.number}: {event.verdict.decision}{told} {'; '.join(event.verdict.reasons)}".rstrip()


@describe_event.register
def _(event: run.RunDraining) -> str:
    return "draining: nothing new starts; press Ctrl-C again to stop at once"


@describe_event.register
def _(event: run.RunPaused) -> str:
    return f"paused: {event.reason}"


@describe_event.register
def _(event: run.EffectAbandoned) -> str:
    return f"{event.key}: {event.reason}"


@describe_event.register
def _(event: run.PrOpened) -> str:
    return f"pull request {event.ref} on {event.forge}: {event.url}"


@describe_event.register
def _(event: forge.ChecksSeen | forge.PrMerging | forge.PrMerged | forge.PrClosing | forge.PrClosed) -> str:
    return f"pull request {event.ref} {describe_pull_request_event(event)}"


@describe_event.register
def _(event: run.RunEnded) -> str:
    return f"ended {event.outcome}: {event.reason}"


@describe_event.register
def _(event: work.TaskCreated) -> str:
    if event.spec.depends_on:
        after = f" after {', '.join(event.spec.depends_on)}"
    else:
        after = ""
    if event.spec.grants:
        granted = f", may change {', '.join(event.spec.grants)}"
    else:
        granted = ""
    return f"{event.spec.kind} task: {event.spec.title}{after}{granted}"


@describe_event.register
def _(event: work.PlanningStarted) -> str:
    return f"planning, round {event.round}"


@describe_event.register
def _(event: work.PlanSubmitted) -> str:
    return f"planned {len(event.plan.tasks)} tasks: {', '.join(draft.key for draft in event.plan.tasks)}"


@describe_event.register
def _(event: work.PlanRefused) -> str:
    return f"plan refused: {'; '.join(event.problems)}"


@describe_event.register
def _(event: work.PlanningEnded) -> str:
    return f"planner is done: {event.handoff.summary}"


@describe_event.register
def _(event: work.AttemptStarted) -> str:
    return f"attempt {event.attempt.number} ({event.attempt.mode}) on {shorten_model_name(event.attempt.model)}"


@describe_event.register
def _(event: work.AttemptEnded) -> str:
    if event.handoff:
        said = event.handoff.summary
    else:
        said = event.detail
    return f"attempt {event.number} {event.exit}: {said}"


@describe_event.register
def _(event: work.CandidateTaken) -> str:
    if event.dropped:
        dropped = f", left out {len(event.dropped)}"
    else:
        dropped = ""
    dropped += f", {len(event.flagged)} to look at" if event.flagged else ""
    return f"candidate {event.commit[:12]}: {len(event.paths)} files +{event.added} -{event.removed}{dropped}"


@describe_event.register
def _(event: work.VerdictGiven) -> str:
    return f"verdict on attempt {event.number}: {event.verdict.kind} {'; '.join(event.verdict.reasons)}".rstrip()


@describe_event.register
def _(event: work.LensVoted) -> str:
    vote = event.vote
    return f"{vote.lens} lens ({shorten_model_name(vote.model)}): {vote.decision} {'; '.join(vote.reasons)}".rstrip()


@describe_event.register
def _(event: work.TaskEnded) -> str:
    cause = f" ({event.cause})" if event.cause else ""
    return f"{event.status}{cause}" + (f": {event.reason}" if event.reason else "")


@describe_event.register
def _(event: work.SessionStarted) -> str:
    return f"{event.role} speaks with {shorten_model_name(event.model)} ({event.session})"


@describe_event.register
def _(event: work.ModelReplied) -> str:
    tools = ", ".join(call.name for call in event.tool_calls)
    return f"{event.role} turn {event.turn}: {event.text.head[:200]} → {tools or 'text only'}"


@describe_event.register
def _(event: work.ModelFailed) -> str:
    if event.retry_in_s is None:
        again = ""
    else:
        again = f"; again in {event.retry_in_s:.0f} s"
    if event.opens_at:
        until = f" until {event.opens_at.astimezone():%Y-%m-%d %H:%M:%S %z}"
    else:
        until = ""
    if event.pool:
        closed = f"; {event.pool} is left alone{until}"
    else:
        closed = ""
    return f"{shorten_model_name(event.model)}: {event.error}: {event.detail}{again}{closed}"


@describe_event.register
def _(event: work.ToolCalled) -> str:
    return f"{event.name} {event.arguments.head[:200]}"


@describe_event.register
def _(event: work.ToolReturned) -> str:
    kept = "".join(f"; kept from {line}" for line in describe_refused_hosts(event.network))
    if event.stray_packets:
        stray = f"; {event.stray_packets} packets without a way out"
    else:
        stray = ""
    return f"{event.name} {'ok' if event.ok else 'refused'}{kept}{stray}: {event.observation.head[:200]}"


@describe_event.register
def _(event: work.SessionEnded) -> str:
    return f"session {event.session} {event.exit} {event.detail}".rstrip()


@describe_event.register
def _(event: landing.TrialJudged) -> str:
    d = event.difference
    lost = f"{len(d.new_failures)} new failures, {len(d.missing_tests)} missing"
    problems = "".join(f"; {problem}" for problem in d.problems)
    if d.is_green:
        word = "green"
    else:
        word = f"red ({lost}{problems})"
    how = " (known)" if event.cached else " (second look)" if event.is_second_look else ""
    if event.taken_back:
        without = f", {event.taken_back} landed taken back"
    else:
        without = ""
    return f"union of {len(event.units)}{without}: {word}{how}"


@describe_event.register
def _(event: landing.UnitEjected) -> str:
    return f"ejected {event.unit}" + (f": conflicts in {', '.join(event.conflict)}" if event.conflict else "")


@describe_event.register
def _(event: landing.LandingFinished) -> str:
    return f"landed {len(event.units)} on {event.branch} at {event.new[:12]}"


@describe_event.register
def _(event: migration.FilesFound) -> str:
    return f"{len(event.files)} files in scope, {sum(file.sites for file in event.files)} sites"


@describe_event.register
def _(event: migration.StepStarted) -> str:
    return f"step {event.step} over {event.files} files"


@describe_event.register
def _(event: migration.StepFinished) -> str:
    return (
        f"step {event.step}: {event.changed} changed, {event.unchanged} unchanged, {event.restored} restored "
        f"({event.seconds:.1f} s)"
    )


@describe_event.register
def _(event: migration.RollbackRefused) -> str:
    return f"shard {event.shard} stays: {event.reason}"


@describe_event.register
def _(event: migration.FileMoved) -> str:
    return f"{event.path} {event.status}" + (f": {event.reason}" if event.reason else "")


@describe_event.register
def _(event: migration.ShardsPlanned) -> str:
    return f"{len(event.shards)} shards of {sum(len(shard.files) for shard in event.shards)} files"


@describe_event.register
def _(event: migration.WaveStarted) -> str:
    return f"wave {event.number} ({event.wave}): {', '.join(event.shards)}"


@describe_event.register
def _(event: migration.WaveEnded) -> str:
    return f"wave {event.number} is over"


@describe_event.register
def _(event: migration.RecipeRevised) -> str:
    by = f" by {event.by}" if event.by else ""
    return f"recipe revised{by} to {event.revision}: {len(event.redo)} files are done again"


@describe_event.register
def _(event: migration.ShardReverted) -> str:
    return f"rolled back shard {event.shard} by {event.commit[:12]}" + (f": {event.reason}" if event.reason else "")


@describe_event.register
def _(event: migration.FilesFlagged) -> str:
    return f"flagged {event.flag}: {', '.join(event.paths)}"


_SAID = {
    "drain": ": draining, what is running is finished, nothing new begins",
    "interrupt": " at once",
    "terminate": " at once",
}


@describe_event.register
def _(event: people.CommandTaken) -> str:
    if event.refused:
        refused = f", refused: {event.refused}"
    else:
        refused = ""
    word = _SAID.get(getattr(event.command, "how", ""), "")
    if isinstance(event.command, AddCriterion):
        word = f" {event.command.criterion.id}: {event.command.criterion.text}"
    elif isinstance(event.command, DropCriterion):
        word = f" {event.command.id}"
    elif isinstance(event.command, StopCall):
        word = f" {event.command.session}" + (f": {event.command.reason}" if event.command.reason else "")
    return f"{event.by} says {event.command.do}{word}{refused}"


@describe_event.register
def _(event: people.ApprovalRequested) -> str:
    return f"asks for an answer: {event.approval.title} ({event.approval.item})"


@describe_event.register
def _(event: people.ApprovalDecided) -> str:
    if event.reason:
        reason = f": {event.reason}"
    else:
        reason = ""
    return f"{event.by} answers {event.decision} to {event.item}{reason}"


@describe_event.register
def _(event: run.RepositoryMoved) -> str:
    return f"the run goes on in {event.repository}"


@describe_event.register
def _(event: run.ClockJumped) -> str:
    return f"the clock was set, or the machine slept: {event.by_s:+.0f} s"


@describe_event.register
def _(event: external.HookStarted) -> str:
    return f"{event.point}: hook {event.hook} runs ({event.command})"


@describe_event.register
def _(event: external.HookFinished) -> str:
    if event.reason:
        reason = f": {event.reason}"
    else:
        reason = ""
    return f"{event.point}: hook {event.hook} {_ANSWERS[event.decision]}{reason} ({event.seconds:.1f} s)"


_ANSWERS = {"allow": "allows it", "veto": "vetoes it", "stop": "stops the run", "failed": "failed, which is ignored"}


@describe_event.register
def _(event: external.NotificationSending) -> str:
    return f"notifying by {event.channel}: {event.notification}"


@describe_event.register
def _(event: external.NotificationSent) -> str:
    word = "may have been sent" if event.is_sent is None else "sent" if event.is_sent else "not sent"
    return f"notification by {event.channel} {word}" + (f": {event.detail}" if event.detail else "")


@describe_event.register
def _(event: external.PushStarted) -> str:
    return f"pushing {event.branch} to {event.remote}"


@describe_event.register
def _(event: external.PushFinished) -> str:
    return f"pushed {event.branch} to {event.remote} at {event.commit[:12]}"
