"""A retrospective over recorded runs: read, find, propose, and try each proposal by asking again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from anyio import to_thread

from orchestrator.app.configured_prompts import load_configured_prompts
from orchestrator.app.retro_models import open_prompt_editor
from orchestrator.config.model import Config
from orchestrator.discovery.judged_runs import DEFAULT_RUNS, JudgedRuns, choose_runs, read_judged_runs
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.ids import RunId
from orchestrator.errors import JournalProblem, LimitReached, OrchestrateError, ProviderDown
from orchestrator.journal.locations.run_directory import StateDirectory
from orchestrator.journal.session_reader import JournalSessionReader
from orchestrator.llm.errors import ModelError
from orchestrator.ports.prompt_edits import EditedPrompt, PromptEditBrief, PromptEditor
from orchestrator.project.options import Options, ProjectContext, load_project_context
from orchestrator.project.secrets import build_redactor
from orchestrator.redact.redactor import Redactor
from orchestrator.replay.recording import RecordedRun
from orchestrator.retro.decisions import PromptUse
from orchestrator.retro.findings import PromptFinding, find_weak_prompts, group_by_prompt
from orchestrator.retro.output_directory import require_new_directory, write_proposals
from orchestrator.retro.proposals import PromptProposal
from orchestrator.retro.report import Retrospective, list_evidence
from orchestrator.retro.rows import build_rows
from orchestrator.retro.trial_choice import TrialChooser, TrialMaterial
from orchestrator.retro.variants import propose_settings
from orchestrator.scratch_runs.retro_trial import ProposalTrial
from prompts import PromptSource
from prompts.loader import list_prompt_names

TellEstimate = Callable[[Usage, int], None]
"""Told of the expected cost, and of how many recorded calls are made again, before any model is asked."""


@dataclass(frozen=True)
class RetroOptions:
    """The options of a retrospective: which runs, whether models are asked, and where proposals are written."""

    runs: tuple[str, ...] = ()
    count: int = DEFAULT_RUNS
    asks_model: bool = True
    out: Path | None = None


async def look_back(options: Options, wanted: RetroOptions, tell_estimate: TellEstimate) -> Retrospective:
    """Return what recorded runs teach. Nothing is changed, but for the directory that `wanted.out` names.

    Raises:
        UsageProblem: there is no such run, or the directory cannot be used.
        EnvironmentProblem: a model or the sandbox is not there.
        JournalProblem: no journal can be read.
    """
    project = await to_thread.run_sync(load_project_context, options)
    out = None
    if wanted.out is not None:
        out = await to_thread.run_sync(require_new_directory, wanted.out, project.repository.root)
    source = await load_configured_prompts(project.config)
    judged = await to_thread.run_sync(_read_runs, project.state, wanted, source)
    retro = _find_weaknesses(judged, project.config, source)
    groups = {}
    for use, findings in group_by_prompt(retro.findings).items():
        if retro.is_current(findings[0]):
            groups[use] = findings
    if wanted.asks_model and groups:
        work = _Proposing(options, project, source, judged, await to_thread.run_sync(build_redactor, project.config))
        retro = await work.propose_changes(retro, groups, tell_estimate)
    if out is not None:
        retro = replace(retro, out=str(out))
        await to_thread.run_sync(write_proposals, out, retro)
    return retro


def _read_runs(state: StateDirectory, wanted: RetroOptions, source: PromptSource) -> JudgedRuns:
    names = {}
    for name in list_prompt_names():
        names[source.load_prompt(name).sha] = name
    return read_judged_runs(choose_runs(state, wanted.runs, wanted.count), names)


def _find_weaknesses(judged: JudgedRuns, config: Config, source: PromptSource) -> Retrospective:
    current = {}
    for name in list_prompt_names():
        current[name] = source.load_prompt(name).sha
    return Retrospective(
        runs=judged.runs,
        current=current,
        unread=judged.unread,
        rows=build_rows(judged.decisions),
        findings=find_weak_prompts(judged.decisions),
        settings=propose_settings(judged.decisions, config.roles.worker),
    )


@dataclass
class _Proposing:
    """The part of one retrospective that asks models."""

    options: Options
    project: ProjectContext
    source: PromptSource
    judged: JudgedRuns
    redactor: Redactor

    async def propose_changes(
        self,
        retro: Retrospective,
        groups: Mapping[PromptUse, Sequence[PromptFinding]],
        tell_estimate: TellEstimate,
    ) -> Retrospective:
        """Return the retrospective with a proposal for each prompt, tried as far as the budget goes."""
        materials = await self._choose_materials(groups)
        briefs = {}
        for use, findings in groups.items():
            briefs[use] = self._build_brief(findings)
        proposals: list[PromptProposal] = []
        problem: OrchestrateError | None = None
        trial = ProposalTrial(self.options, self.project.config.budget)
        budget = self.project.config.budget
        async with open_prompt_editor(self.project.config, budget, self.source) as editor:
            estimate = await _estimate_cost(editor, briefs.values(), materials.values())
            tell_estimate(estimate, sum(map(len, materials.values())))
            try:
                for use, findings in groups.items():
                    proposal = await self._propose_change(editor, findings, briefs[use])
                    proposals.append(proposal)
                    proposals[-1] = await trial.try_proposal(proposal, materials[use], editor.spent)
            except (LimitReached, ModelError, ProviderDown) as error:  # what was found is told all the same
                problem = error
            spent = editor.spent + trial.spent
        retro = replace(retro, proposals=proposals, estimate=estimate, spent=spent)
        if problem is not None:
            retro = replace(retro, stopped=str(problem), stopped_exit=problem.exit_code)
        return retro

    async def _choose_materials(
        self, groups: Mapping[PromptUse, Sequence[PromptFinding]]
    ) -> Mapping[PromptUse, Sequence[TrialMaterial]]:
        recordings: dict[RunId, RecordedRun] = {}
        for run in dict.fromkeys(decision.run for decision in self.judged.decisions if decision.use in groups):
            with suppress(JournalProblem):  # a text of it is gone: its decisions cannot be asked again
                reader = await to_thread.run_sync(JournalSessionReader, self.project.state.get_run(run))
                recordings[run] = await RecordedRun.from_reader(reader)
        chooser = TrialChooser(self.project.repository.git, recordings)
        materials = {}
        for use, findings in groups.items():
            materials[use] = await chooser.choose_calls(findings, self.judged.decisions)
        return materials

    def _build_brief(self, findings: Sequence[PromptFinding]) -> PromptEditBrief:
        use = findings[0].use
        causes, evidence = [], []
        for finding in findings:
            counts = f"{finding.tasks} of {finding.all_tasks} tasks, in {finding.runs} runs"
            causes.append(f"{finding.cause.label}: {counts}")
            for place in list_evidence(finding):
                words = f"{finding.cause.label}, run {place.run}, task {place.task}: {place.text}"
                evidence.append(self.redactor.redact_text(words))
        return PromptEditBrief(use.role, self.source.load_prompt(use.name), tuple(causes), tuple(evidence))

    async def _propose_change(
        self, editor: PromptEditor, findings: Sequence[PromptFinding], brief: PromptEditBrief
    ) -> PromptProposal:
        edited: EditedPrompt = await editor.propose_edits(brief)
        reason = self.redactor.redact_text(edited.reason)
        proposal = PromptProposal(tuple(findings), brief.prompt, edited.prompt, reason)
        if edited.prompt is not None:
            proposal = replace(proposal, state="untried", verdict="the trial did not come to its end")
        return proposal


async def _estimate_cost(
    editor: PromptEditor, briefs: Iterable[PromptEditBrief], materials: Iterable[Sequence[TrialMaterial]]
) -> Usage:
    """Return the expected cost: of the proposals, and of the calls that are made again by what they cost then."""
    total = Usage()
    for brief in briefs:
        total += await editor.estimate_cost(brief)
    for chosen in materials:
        total += Usage.sum_of(material.usage for material in chosen)
    return total
