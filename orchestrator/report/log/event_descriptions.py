"""Describe events in words."""

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import TypeVar

from orchestrator.domain.event import Event, external, forge, landing, migration, people, run, verification, work
from orchestrator.domain.event.guests import GuestSessionOpened, GuestStarted
from orchestrator.domain.event.hosts import HostJoined, HostLeft, HostMarked
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.ids import QuestionId
from orchestrator.domain.judging.check import GATE_VARIANTS, Difference, ReceiptStatus
from orchestrator.domain.planning.plan_edits import describe_plan_change, list_plan_changes
from orchestrator.domain.run.approval import DECISION_WORDS
from orchestrator.domain.run.grant import format_grants
from orchestrator.domain.sandbox.network import describe_refused_hosts
from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.report.log.command_subjects import FINISHES, describe_command_subject
from orchestrator.report.log.host_descriptions import describe_joined_host, describe_left_host, describe_marked_host
from orchestrator.report.log.session_descriptions import describe_agent_session, describe_session_event
from orchestrator.report.log.session_descriptions import shorten_model_name as shorten_model_name
from orchestrator.report.run.condition import STOPPED_EXITS, RunCondition
from orchestrator.report.run.forge_checks import describe_pull_request_event

E = TypeVar("E", bound=Event)


@singledispatch
def describe_event(event: Event) -> str:
    """Return the event in words."""
    return event.kind


def _describe(kind: type[E], words: Callable[[E], str]) -> None:
    describe_event.register(kind)(words)


@describe_event.register
def _(event: run.RunStarted) -> str:
    called = add_lead(", called ", event.name)
    return f"run {event.run}{called}: {event.goal} (base {event.base[:12]}, branch {event.branch})"


@describe_event.register
def _(event: run.EngineStarted) -> str:
    return f"process {event.pid} on {event.host} works on the run (epoch {event.epoch})"


@describe_event.register
def _(event: run.CheckReused) -> str:
    receipt = event.receipt
    made = f" by run {receipt.origin.run}" if receipt.origin else ""
    variant = add_lead(", ", GATE_VARIANTS.get(receipt.kind))
    return f"tested  {receipt.tree[:12]}{variant}: {receipt.outcome_text}, earlier{made}"


@describe_event.register
def _(event: run.CheckFinished) -> str:
    receipt, counts = event.receipt, event.receipt.counts
    result = receipt.ending_text
    if receipt.tests is not None:
        result = f"{counts.passed} passed, {counts.failed} failed, {counts.errors} errors"
        if receipt.status != ReceiptStatus.COMPLETED:
            result = f"{receipt.ending_text}: {result}"
    variant = add_lead(", ", GATE_VARIANTS.get(receipt.kind))
    return f"tested  {receipt.tree[:12]}{variant}: {result} ({receipt.seconds:.1f} s)"


@describe_event.register
def _(event: run.FlakesSeen) -> str:
    return f"flaky: {', '.join(event.flaky[:5])}{', …' * (len(event.flaky) > 5)} passed and failed on {event.tree[:12]}"


@describe_event.register
def _(event: run.ContractFrozen) -> str:
    return f"contract frozen: {', '.join(criterion.id for criterion in event.contract.criteria)}"


@describe_event.register
def _(event: run.IterationStarted) -> str:
    return f"iteration {event.number} begins{add_lead(': ', '; '.join(event.reasons))}"


@describe_event.register
def _(event: run.IterationJudged) -> str:
    verdict = event.verdict
    words = f"iteration {event.number}: {verdict.decision}"
    if unmet := ", ".join(finding.id for finding in verdict.findings if not finding.met):
        words += f" (not met: {unmet})"
    return f"{words} {'; '.join(verdict.reasons)}".rstrip()


@describe_event.register
def _(event: forge.ChecksSeen | forge.PrMerging | forge.PrMerged | forge.PrClosing | forge.PrClosed) -> str:
    return f"pull request {event.ref} {describe_pull_request_event(event)}"


@describe_event.register
def _(event: work.TaskCreated) -> str:
    spec = event.spec
    after = add_lead(" after ", ", ".join(spec.depends_on))
    grants = add_lead(", may change ", format_grants(spec.grants))
    return f"{spec.kind} task: {spec.title}{after}{grants}"


@describe_event.register
def _(event: people.WordsDelivered) -> str:
    where = "in its brief" if event.turn is None else f"after turn {event.turn}"
    return f"{event.session} is told what a person said ({', '.join(event.word_ids)}) {where}"


@describe_event.register
def _(event: people.PlanGiven) -> str:
    return f"a person gave the first plan: {len(event.plan.tasks)} tasks"


@describe_event.register
def _(event: people.PlanEdited) -> str:
    changes = map(describe_plan_change, list_plan_changes(event.proposed, event.plan))
    return f"{event.by} edited the plan of round {event.round} of {event.task}: {'; '.join(changes)}"


@describe_event.register
def _(event: work.PlanSubmitted) -> str:
    return f"planned {len(event.plan.tasks)} tasks: {', '.join(draft.key for draft in event.plan.tasks)}"


@describe_event.register
def _(event: work.AttemptStarted) -> str:
    return f"attempt {event.attempt.number} ({event.attempt.mode}) on {shorten_model_name(event.attempt.model)}"


@describe_event.register
def _(event: work.AttemptEnded) -> str:
    summary = event.handoff.summary if event.handoff else event.detail
    return f"attempt {event.number} {event.exit}: {summary}"


@describe_event.register
def _(event: work.CandidateTaken) -> str:
    words = f"candidate {event.commit[:12]}: {len(event.paths)} files +{event.added} -{event.removed}"
    if event.dropped:
        words += f", left out {len(event.dropped)}"
    if event.flagged:
        words += f", {len(event.flagged)} to look at"
    return words


@describe_event.register
def _(event: work.CandidateComposed) -> str:
    return f"attempt {event.number} is tested on top of {', '.join((event.tip[:12], *event.units))}"


@describe_event.register
def _(event: work.VerdictGiven) -> str:
    return f"verdict on attempt {event.number}: {event.verdict.kind} {'; '.join(event.verdict.reasons)}".rstrip()


@describe_event.register
def _(event: work.GrantDecided) -> str:
    decision = "granted" if event.is_allowed else "did not grant"
    return f"{event.by} {decision} {format_grants(event.grants, '; ')}{add_lead(': ', event.reason)}"


@describe_event.register
def _(event: verification.VerifierTestsTried) -> str:
    paths = ", ".join(file.path for file in event.trial.files) or "no file"
    problems = "; ".join(f"{one.path}: {one.problem}" for one in event.trial.problems)
    return f"a verifier's tests on the base: {paths}{add_lead('; ', problems)}"


@describe_event.register
def _(event: verification.VerificationEnded) -> str:
    counted = ", ".join(f"{file.path} ({file.base_outcome.description})" for file in event.files)
    return f"the verifier ended {event.exit}: {counted or 'no test counts'}{add_lead('; ', event.detail)}"


@describe_event.register
def _(event: verification.TestContested) -> str:
    return f"attempt {event.number} contests the verifier's test {event.test}: {event.why}"


@describe_event.register
def _(event: verification.ContestDecided) -> str:
    word = "is dropped" if event.is_dropped else "stands"
    return f"the contested test {event.test} {word}: {'; '.join(event.reasons)}"


@describe_event.register
def _(event: work.LensVoted) -> str:
    vote = event.vote
    return f"{vote.lens} lens ({shorten_model_name(vote.model)}): {vote.decision} {'; '.join(vote.reasons)}".rstrip()


@describe_event.register
def _(event: work.TaskEnded) -> str:
    status = f"{event.status.word} ({event.cause})" if event.cause else event.status.word
    return f"{status}{add_lead(': ', event.reason)}"


@describe_event.register
def _(event: work.SessionStarted | work.ContextFilled | work.ConversationCarriedOver | work.SessionEnded) -> str:
    return describe_session_event(event)


@describe_event.register
def _(event: work.ModelReplied) -> str:
    tools = ", ".join(call.name for call in event.tool_calls)
    return f"{event.role} turn {event.turn}: {event.text.head[:200]} → {tools or 'text only'}"


@describe_event.register
def _(event: work.ModelFailed) -> str:
    words = f"{shorten_model_name(event.model)}: {event.error}: {event.detail}"
    if event.retry_in_s is not None:
        words += f"; again in {event.retry_in_s:.0f} s"
    if event.pool:
        words += f"; {event.pool} is left alone"
        if event.opens_at:
            words += f" until {event.opens_at.astimezone():%Y-%m-%d %H:%M:%S %z}"
    return words


@describe_event.register
def _(event: work.ToolReturned) -> str:
    words = f"{event.name} {'ok' if event.ok else 'refused'}"
    if event.failure is not None:
        words += f" ({event.failure})"
    for line in describe_refused_hosts(event.network):
        words += f"; kept from {line}"
    if event.stray_packets:
        words += f"; {event.stray_packets} packets without a way out"
    if event.program is not None and event.program.counts:
        words += f"; called {', '.join(f'{tool} {count}' for tool, count in event.program.counts.items())}"
    return f"{words}: {event.observation.head[:200]}"


@describe_event.register
def _(event: landing.TrialJudged) -> str:
    words = f"union of {len(event.units)}"
    if event.taken_back:
        words += f", {event.taken_back} landed taken back"
    words += f": {_describe_difference(event.difference)}"
    if event.cached:
        return f"{words} (known)"
    if event.is_second_look:
        return f"{words} (second look)"
    return words


def _describe_difference(difference: Difference) -> str:
    if difference.is_green:
        return "green"
    lost = f"{len(difference.new_failures)} new failures, {len(difference.missing_tests)} missing"
    return f"red ({'; '.join((lost, *difference.problems))})"


@describe_event.register
def _(event: landing.LandingFinished) -> str:
    if event.is_squash:
        return f"squashed {event.branch} to one commit, {event.new[:12]}"
    return f"landed {len(event.units)} on {event.branch} at {event.new[:12]}"


@describe_event.register
def _(event: landing.RewindFinished) -> str:
    return (
        f"restarted: {event.branch} went back from {event.old[:12]} to {event.new[:12]}; "
        f"iteration {event.iteration} is kept in {event.kept}"
    )


@describe_event.register
def _(event: run.IterationReopened) -> str:
    return f"iteration {event.number} is judged anew: {event.reason}"


@describe_event.register
def _(event: landing.ClashForeseen) -> str:
    other = ", ".join(event.partners) or "what has landed"
    return f"{event.unit} and {other} would conflict in {', '.join(event.paths) or 'no file any more'}"


@describe_event.register
def _(event: landing.UnitEjected) -> str:
    return f"ejected {event.unit}{add_lead(': conflicts in ', ', '.join(event.conflict))}"


@describe_event.register
def _(event: migration.FilesFound) -> str:
    return f"{len(event.files)} files in scope, {sum(file.sites for file in event.files)} sites"


@describe_event.register
def _(event: migration.StepFinished) -> str:
    return (
        f"step {event.step}: {event.changed} changed, {event.unchanged} unchanged, {event.restored} restored "
        f"({event.seconds:.1f} s)"
    )


@describe_event.register
def _(event: migration.ShardsPlanned) -> str:
    return f"{len(event.shards)} shards of {sum(len(shard.files) for shard in event.shards)} files"


@describe_event.register
def _(event: migration.RecipeRevised) -> str:
    return f"recipe revised{add_lead(' by ', event.by)} to {event.revision}: {len(event.redo)} files are done again"


@describe_event.register
def _(event: migration.ShardReverted) -> str:
    return f"rolled back shard {event.shard} by {event.commit[:12]}{add_lead(': ', event.reason)}"


@describe_event.register
def _(event: run.RunPaused) -> str:
    word = RunCondition.PAUSED
    if event.exit in STOPPED_EXITS:
        word = RunCondition.STOPPED
    return f"{word}: {event.reason}"


@describe_event.register
def _(event: people.CommandTaken) -> str:
    subject, refusal = describe_command_subject(event.command), add_lead(", refused: ", event.refused)
    return f"{event.by} says {event.command.do}{subject}{refusal}"


def describe_event_with_questions(event: Event, question_ids: Mapping[str, QuestionId]) -> str:
    """Return the event in words, a question by its short name too, as far as `question_ids` has it by its item."""
    match event:
        case people.ApprovalRequested() if event.approval.item in question_ids:
            return f"asks {question_ids[event.approval.item]}: {event.approval.title} ({event.approval.item})"
        case people.ApprovalDecided() if event.item in question_ids:
            return f"{question_ids[event.item]} {describe_event(event)}"
    return describe_event(event)


@describe_event.register
def _(event: people.ApprovalDecided) -> str:
    said = event.reason
    if event.comments:
        said = f"{said} ({format_count(len(event.comments), 'commented line')})".strip()
    return f"{event.item} {DECISION_WORDS[event.decision]} by {event.by}{add_lead(': ', said)}"


@describe_event.register
def _(event: external.HookFinished) -> str:
    answer = f"{_ANSWERS[event.decision]}{add_lead(': ', event.reason)}"
    return f"{event.point}: hook {event.hook} {answer} ({event.seconds:.1f} s)"


_ANSWERS = {"allow": "allows it", "veto": "vetoes it", "stop": "stops the run", "failed": "failed, which is ignored"}


@describe_event.register
def _(event: external.NotificationSent) -> str:
    return f"notification by {event.channel} {_SENT[event.is_sent]}{add_lead(': ', event.detail)}"


_SENT = {True: "sent", False: "not sent", None: "may have been sent"}


_describe(run.Noticed, lambda event: f"{event.level}: {event.text}")
_describe(run.CheckStarted, lambda event: f"testing {event.tree[:12]} for {event.purpose}")
_describe(run.BaselineRecorded, lambda event: "baseline recorded")
_describe(run.RunDraining, lambda event: f"stopping: {FINISHES}; press Ctrl-C again to stop at once")
_describe(run.EffectAbandoned, lambda event: f"{event.key}: {event.reason}")
_describe(run.PrOpened, lambda event: f"pull request {event.ref} on {event.forge}: {event.url}")
_describe(run.RunEnded, lambda event: f"ended {event.outcome}: {event.reason}")
_describe(run.RepositoryMoved, lambda event: f"the run goes on in {event.repository}")
_describe(run.ClockJumped, lambda event: f"the clock was set, or the machine slept: {event.by_s:+.0f} s")
_describe(work.PlanningStarted, lambda event: f"planning, round {event.round}")
_describe(work.PlanRefused, lambda event: f"plan refused: {'; '.join(event.problems)}")
_describe(work.PlanningEnded, lambda event: f"planner is done: {event.handoff.summary}")
_describe(work.RivalChosen, lambda event: f"{event.chosen} is chosen to land: {'; '.join(event.reasons)}")
_describe(verification.VerificationStarted, lambda event: f"a verifier writes tests, on {event.base[:12]}")
_describe(work.ToolCalled, lambda event: f"{event.name} {event.arguments.head[:200]}")
_describe(migration.StepStarted, lambda event: f"step {event.step} over {event.files} files")
_describe(migration.RollbackRefused, lambda event: f"shard {event.shard} stays: {event.reason}")
_describe(migration.FileMoved, lambda event: f"{event.path} {event.status}{add_lead(': ', event.reason)}")
_describe(migration.WaveStarted, lambda event: f"wave {event.number} ({event.wave}): {', '.join(event.shards)}")
_describe(migration.WaveEnded, lambda event: f"wave {event.number} is over")
_describe(migration.FilesFlagged, lambda event: f"flagged {event.flag}: {', '.join(event.paths)}")
_describe(people.ApprovalRequested, lambda event: f"asks for an answer: {event.approval.title} ({event.approval.item})")
_describe(PolicyLoaded, lambda event: f"the policy {event.policy[:12]} decides from here on ({event.path})")
_describe(GuestStarted, lambda event: f"the agent {event.engine} is started ({event.begun}) for {event.session}")
_describe(HostJoined, describe_joined_host)
_describe(HostLeft, describe_left_host)
_describe(HostMarked, describe_marked_host)
_describe(GuestSessionOpened, describe_agent_session)
_describe(external.HookStarted, lambda event: f"{event.point}: hook {event.hook} runs ({event.command})")
_describe(external.NotificationSending, lambda event: f"notifying by {event.channel}: {event.notification}")
_describe(external.PushStarted, lambda event: f"pushing {event.branch} to {event.remote}")
_describe(external.PushFinished, lambda event: f"pushed {event.branch} to {event.remote} at {event.commit[:12]}")
