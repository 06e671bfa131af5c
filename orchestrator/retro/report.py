"""The outcome of a retrospective, and its document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import RunId
from orchestrator.retro import report_model as model
from orchestrator.retro.findings import PromptFinding
from orchestrator.retro.proposals import PromptProposal
from orchestrator.retro.rows import DecisionRow
from orchestrator.retro.trial import TriedDecision
from orchestrator.retro.variants import SettingChange

_FOUND = 1
MAX_EVIDENCE = 5


@dataclass(frozen=True)
class Retrospective:
    """All that a retrospective says. `current` are the shas of the prompts in force, by name.

    `stopped` is why proposing or trying ended early, and `stopped_exit` the exit code of that; empty if it did not.
    """

    runs: Sequence[RunId]
    current: Mapping[str, str]
    unread: Sequence[str] = ()
    rows: Sequence[DecisionRow] = ()
    findings: Sequence[PromptFinding] = ()
    settings: Sequence[SettingChange] = ()
    proposals: Sequence[PromptProposal] = ()
    estimate: Usage | None = None
    spent: Usage = field(default_factory=Usage)
    stopped: str = ""
    stopped_exit: int = 0
    out: str | None = None

    @property
    def exit_code(self) -> int:
        """0 if nothing was found, 1 if something was; the code of what ended it early, such as 5 for the budget."""
        if self.stopped_exit:
            return self.stopped_exit
        if self.findings or self.settings:
            return _FOUND
        return 0

    def is_current(self, finding: PromptFinding) -> bool:
        """Return True if the prompt of a finding is in force as it was then."""
        return self.current.get(finding.use.name) == finding.use.sha


def build_retro_document(retro: Retrospective) -> model.RetroDocument:
    """Return the document for `--json`."""
    return model.RetroDocument(
        runs=tuple(retro.runs),
        unread=tuple(retro.unread),
        rows=tuple(map(_build_row, retro.rows)),
        findings=tuple(_build_finding(finding, retro.is_current(finding)) for finding in retro.findings),
        settings=tuple(map(_build_setting, retro.settings)),
        proposals=tuple(map(_build_proposal, retro.proposals)),
        estimate=None if retro.estimate is None else _build_cost(retro.estimate),
        spent=_build_cost(retro.spent),
        stopped=retro.stopped,
        out=retro.out,
        exit=retro.exit_code,
    )


def _build_cost(usage: Usage) -> model.RetroCost:
    return model.RetroCost(usd=usage.usd, tokens=usage.tokens, calls=usage.calls)


def _build_row(row: DecisionRow) -> model.RetroRow:
    causes = []
    for cause, count in row.causes.most_common():
        examples = tuple(row.examples.get(cause, ()))
        causes.append(model.RetroCause(cause=cause.label, count=count, examples=examples))
    return model.RetroRow(
        role=row.use.role,
        prompt=row.use.name,
        sha=row.use.sha,
        model=row.model,
        variant=row.variant,
        decisions=row.decisions,
        landed=row.landed,
        sent_back=row.sent_back,
        causes=tuple(causes),
        spent=_build_cost(row.spent),
        lost=_build_cost(row.lost),
    )


def list_evidence(finding: PromptFinding) -> Sequence[model.RetroEvidence]:
    """Return the newest places that a finding rests on."""
    places = []
    for decision in finding.decisions[:MAX_EVIDENCE]:
        fault = next(fault for fault in decision.faults if fault.cause == finding.cause)
        about = {"task": decision.task, "session": decision.session, "text": fault.text}
        places.append(model.RetroEvidence(run=decision.run, seq=fault.seq, **about))
    return places


def _build_finding(finding: PromptFinding, is_current: bool) -> model.RetroFinding:
    numbers = finding.model_dump(include={"tasks", "all_tasks", "runs", "all_runs"})
    return model.RetroFinding(
        role=finding.use.role,
        prompt=finding.use.name,
        sha=finding.use.sha,
        is_current=is_current,
        cause=finding.cause.label,
        low=round(finding.low, 3),
        models=finding.models,
        recipes=finding.recipes,
        lost=_build_cost(finding.lost),
        evidence=tuple(list_evidence(finding)),
        **numbers,
    )


def _build_setting(change: SettingChange) -> model.RetroSetting:
    return model.RetroSetting(
        key=change.key,
        old=change.old,
        new=change.new,
        variant=change.better.variant,
        usual_tasks=change.usual.tasks,
        usual_landed=change.usual.landed,
        variant_tasks=change.better.tasks,
        variant_landed=change.better.landed,
    )


def _build_proposal(proposal: PromptProposal) -> model.RetroProposal:
    return model.RetroProposal(
        prompt=proposal.name,
        causes=tuple(finding.cause.label for finding in proposal.findings),
        state=proposal.state,
        reason=proposal.reason,
        verdict=proposal.verdict,
        diff=proposal.diff,
        tried=tuple(map(_build_tried, proposal.tried)),
    )


def _build_tried(tried: TriedDecision) -> model.RetroTried:
    call, cause = tried.call, None
    if call.cause is not None:
        cause = call.cause.label
    return model.RetroTried(
        run=call.run,
        seq=call.seq,
        session=call.session,
        turn=call.turn,
        cause=cause,
        result=tried.result,
        recorded=tried.recorded,
        new=tried.new,
    )
