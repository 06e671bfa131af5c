"""Try a proposed prompt: replay the runs of the chosen decisions with it, and ask just those calls again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from anyio import to_thread

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.config.layers import merge_settings
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply, Role
from orchestrator.domain.ids import RunId
from orchestrator.errors import LimitReached, UsageProblem
from orchestrator.llm.recorded_model import CallPosition
from orchestrator.project.options import Options
from orchestrator.replay.comparison.diffs import describe_decision
from orchestrator.retro.proposals import PromptProposal
from orchestrator.retro.trial import TriedDecision, judge_trial
from orchestrator.retro.trial_choice import TrialMaterial
from orchestrator.scratch_runs.replay import replay_run
from prompts import Prompt


@dataclass
class ProposalTrial:
    """The trials of one retrospective, under one budget together with what its proposals cost."""

    options: Options
    budget: BudgetSettings
    spent: Usage = field(default_factory=Usage)

    async def try_proposal(
        self, proposal: PromptProposal, materials: Sequence[TrialMaterial], spent_before: Usage
    ) -> PromptProposal:
        """Return the proposal with what asking again showed of it.

        Raises:
            LimitReached: the budget is spent.
        """
        changed = proposal.changed
        if changed is None:
            return proposal
        tried: list[TriedDecision] = []
        if any(material.call.cause is not None for material in materials):
            try:
                tried = await self._replay_runs(proposal.findings[0].use.role, changed, materials, spent_before)
            except UsageProblem as problem:
                return replace(proposal, state="untried", verdict=f"a run cannot be replayed: {problem}")
        verdict = judge_trial(tried)
        return replace(proposal, state=verdict.state, verdict=verdict.reason, tried=tuple(tried))

    async def _replay_runs(
        self, role: Role, changed: Prompt, materials: Sequence[TrialMaterial], spent_before: Usage
    ) -> list[TriedDecision]:
        tried: list[TriedDecision] = []
        with TemporaryDirectory(prefix="orchestrate-retro-") as place:
            await to_thread.run_sync(_write_prompt, Path(place), changed)
            for run, chosen in _group_by_run(materials).items():
                tried += await self._replay_run(run, role, Path(place), chosen, spent_before)
        return tried

    async def _replay_run(
        self, run: RunId, role: Role, place: Path, chosen: Sequence[TrialMaterial], spent_before: Usage
    ) -> list[TriedDecision]:
        calls: set[CallPosition] = {(material.call.session, material.call.turn) for material in chosen}
        limits = {"budget": self._find_rest(spent_before + self.spent)}
        flags = merge_settings(self.options.flags, limits)
        wishes = ReplayOptions(prompts=place, only=role, calls=frozenset(calls))
        report = await replay_run(replace(self.options, flags=flags), run, wishes)
        replies: dict[CallPosition, Reply] = {}
        if report.asking is not None:
            self.spent += report.asking.spent
            for repeated in report.asking.replies:
                replies[repeated.session, repeated.turn] = repeated.reply
        return [_build_result(material, replies) for material in chosen]

    def _find_rest(self, spent: Usage) -> Mapping[str, float]:
        """Return what is left of the budget, by its keys; a limit of 0 is none.

        Raises:
            LimitReached: nothing is left of one of them.
        """
        used = {"usd": spent.usd_known, "tokens": spent.tokens, "calls": spent.calls}
        rest = {}
        for key, amount in used.items():
            limit = float(getattr(self.budget, key))
            if limit and amount >= limit:
                raise LimitReached(f"the budget of {limit:g} {key} is spent: give a larger one (--budget-usd USD)")
            if limit:
                rest[key] = limit - amount
        return rest


def _group_by_run(materials: Sequence[TrialMaterial]) -> Mapping[RunId, Sequence[TrialMaterial]]:
    runs: dict[RunId, list[TrialMaterial]] = {}
    for material in materials:
        runs.setdefault(material.call.run, []).append(material)
    return runs


def _build_result(material: TrialMaterial, replies: Mapping[CallPosition, Reply]) -> TriedDecision:
    reply = replies.get((material.call.session, material.call.turn))
    if reply is None:
        return material.build_result(None)
    return material.build_result(reply, (describe_decision(material.recorded), describe_decision(reply)))


def _write_prompt(place: Path, prompt: Prompt) -> None:
    (place / f"{prompt.name}.md").write_text(prompt.source, encoding="utf-8")
