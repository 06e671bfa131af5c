"""The decision how a run of a check is guarded, from what its run on the base has shown, and what came of it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import TreeId
from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptStatus, ReportFormat
from orchestrator.domain.judging.run_trace import GuardReport, RunTrace
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.judge.gate.check_command import GUARD_VARIABLE, NO_INJECTION, SandboxInjection
from orchestrator.judge.gate.run_traces import read_run_trace
from orchestrator.judge.guard.injection import MAX_GUARDED_RUNNERS, GuardInjection, build_guard_injection
from orchestrator.judge.guard.sealed_report import SealedReports, read_sealed_reports
from orchestrator.judge.reports import ParsedReport
from orchestrator.judge.reports.pytest_text import find_early_stop
from orchestrator.ports.hands import CommandResult
from orchestrator.ports.ledger import Ledger, record_notice_once

GUARDED_FORMATS = frozenset({ReportFormat.AUTO, ReportFormat.JUNIT})
"""The formats of which a check may be one of pytest's, which can be guarded."""
NOT_ASKED = "the check reports in a format of its own, or tells only its exit code"
NO_RUNNER = "no pytest of version 7 or later reported to the guard"
NOT_LOADED = "pytest could not load the guard: does the command set PYTHONPATH itself, or run Python with -I?"
NOT_DECISIVE = "it decides nothing"
UNKNOWN_BASE = "its run on the base was not guarded"
_UNBELIEVABLE = (
    "what this tree says of its tests cannot be believed: among them the harness ran tests of its own, and {}. Take "
    "out whatever changes what tests report, compare or raise"
)
_HIDDEN_EXIT = (
    "the process that runs the tests exits with 0 although pytest ended with an error: leave its exit code alone"
)
_TAIL_BYTES = 256 * 1024


@dataclass(frozen=True)
class GuardPlan:
    """The guard of one run of a check; without an injection, `unguarded` says why there is none.

    `beside` goes into the sandbox where there is no guard.
    `base` holds what each guard reported on the base, and so many test runners have to report under seal; of a narrow
    check one is enough. On the first run on the base, a trial, it is empty.
    """

    injection: GuardInjection | None = None
    unguarded: str = ""
    base: tuple[GuardReport, ...] = ()
    is_narrow: bool = False
    beside: SandboxInjection = NO_INJECTION

    @property
    def needed_reports(self) -> int:
        """The number of test runners that have to report."""
        return min(len(self.base), 1) if self.is_narrow else len(self.base)

    @property
    def sandbox(self) -> SandboxInjection:
        """The lines and files that go into the sandbox beside the command."""
        return self.injection.sandbox if self.injection else self.beside

    @property
    def is_trial(self) -> bool:
        """True if nobody knows yet whether this check can be guarded."""
        return self.injection is not None and not self.base


class GuardPlanner:
    """Decides on guards for the checks of a run."""

    def __init__(self, ledger: Ledger, *, has_canaries: bool) -> None:
        self._ledger = ledger
        self._has_canaries = has_canaries
        self._recorded: dict[TreeId, tuple[str, ...]] = {}

    def record_calls(self, tree: TreeId, paths: Sequence[str]) -> None:
        """Let the guard of a check's first run on a tree record calls of the functions in these modules.

        Tests that measure time or memory may notice that: what is red then is looked at again without it.
        """
        self._recorded[tree] = tuple(paths)

    async def list_guard_facts(self, spec: CheckSpec, tree: TreeId, environment: str) -> tuple[str, ...]:
        """Return what tells apart how a check's first run on a tree is guarded; nothing for the base, or without guard.

        That is what the run on the base has shown, and the modules of whose functions calls are recorded.
        """
        if spec.report not in GUARDED_FORMATS or self.is_base(tree):
            return ()
        base = self._find_base_receipt(spec, environment, None)
        trace = (await read_run_trace(self._ledger, base) if base else None) or RunTrace()
        facts = []
        for guard in trace.guards:
            plugins = sorted(plugin.name for plugin in guard.plugins)
            facts.append(json.dumps([plugins, bool(guard.doubts), guard.is_exit_hidden]))
        return (*facts, *self._recorded.get(tree, ()))

    async def plan_guard(self, spec: CheckSpec, tree: TreeId, environment: str, narrows: str | None) -> GuardPlan:
        """Return the guard for a check on a tree in an environment; `narrows` is the key of the check that it narrows.

        A narrow check is guarded as the whole one is.
        """
        if spec.report not in GUARDED_FORMATS:
            return GuardPlan(unguarded=NOT_ASKED)
        base = self._find_base_receipt(spec, environment, narrows)
        if base is None:
            if narrows is not None or tree != self._ledger.state.run.base_tree:
                return GuardPlan(unguarded=UNKNOWN_BASE)
            return await self._build_plan((), (), has_canaries=self._has_canaries)
        trace = await read_run_trace(self._ledger, base) or RunTrace()
        if not trace.guards:
            return GuardPlan(unguarded=trace.unguarded or UNKNOWN_BASE)
        is_sound = not any(guard.doubts for guard in trace.guards)
        modules = () if self._has_run(spec, tree) else self._recorded.get(tree, ())
        plan = await self._build_plan(modules, trace.guards, has_canaries=self._has_canaries and is_sound)
        return replace(plan, is_narrow=narrows is not None)

    async def announce_doubts(self, guards: tuple[GuardReport, ...]) -> None:
        """Tell people once that canaries do not behave on the base, and that there are none for that reason."""
        for guard in guards:
            if guard.doubts:
                text = f"no canaries in this run, so outcomes that code has forged may go unseen: {guard.doubts[0]}"
                notice = Noticed(level="info", code=NoticeCode.CANARIES_OFF, subject="base", text=text)
                await record_notice_once(self._ledger, notice)
                return

    def is_base(self, tree: TreeId) -> bool:
        """Return True if a tree is that of the run's base."""
        return tree == self._ledger.state.run.base_tree

    def _has_run(self, spec: CheckSpec, tree: TreeId) -> bool:
        return any(receipt.command == spec.run for receipt in self._ledger.state.list_receipts_on(tree))

    async def _build_plan(
        self, modules: Sequence[str], base: tuple[GuardReport, ...], *, has_canaries: bool
    ) -> GuardPlan:
        keys = len(base) or MAX_GUARDED_RUNNERS
        known = sorted({plugin.name for guard in base for plugin in guard.plugins})
        build = partial(build_guard_injection, keys, has_canaries=has_canaries, known_plugins=known, modules=modules)
        injection = await to_thread.run_sync(build)
        return GuardPlan(injection, base=base)

    def _find_base_receipt(self, spec: CheckSpec, environment: str, narrows: str | None) -> Receipt | None:
        """Return the newest receipt of the same command on the base, whatever the check's id is."""
        place = (self._ledger.state.run.base_tree, environment)
        for receipt in reversed(self._ledger.state.list_receipts_on(place[0])):
            is_same = receipt.command == spec.run
            if narrows is not None:
                is_same = receipt.check == narrows
            is_whole = receipt.narrows is None and receipt.status == ReceiptStatus.COMPLETED
            if is_same and is_whole and (receipt.tree, receipt.environment) == place:
                return receipt
        return None


def read_guard_result(plan: GuardPlan, result: CommandResult) -> SealedReports:
    """Return what the guards of a check's run have sealed. Blocks."""
    if plan.injection is None:
        return SealedReports({}, ())
    return read_sealed_reports(result.files.get(GUARD_VARIABLE), plan.injection.keys)


def has_broken_run(plan: GuardPlan, sealed: SealedReports, result: CommandResult) -> bool:
    """Return True if a trial has no report and its command names the guard, as pytest does where it cannot load it."""
    if not plan.is_trial or sealed.guards or plan.injection is None:
        return False
    output = _read_tail(result.log)
    return any(name.encode() in output for name in plan.injection.sandbox.names)


def describe_missing_guard(plan: GuardPlan, sealed: SealedReports) -> str:
    """Return why a run's outcomes are not guarded; empty if they are."""
    if sealed.guards:
        return ""
    return plan.unguarded or NO_RUNNER


def read_guarded_report(plan: GuardPlan, sealed: SealedReports, plain: ParsedReport, log: Path) -> ParsedReport:
    """Return the outcomes of a check that ended by itself: the sealed ones, and no others where the base had some.

    `plain` is what a run without a guard would have reported. Blocks.
    """
    if not plan.base and not sealed.guards:
        return plain
    if problem := _find_seal_problem(plan, sealed):
        return ParsedReport(outcomes={}, problem=problem)
    problems = _list_guard_problems(plan, sealed.guards)
    if not problems and (stopped := find_early_stop(_read_tail(log).decode("utf-8", "replace"))):
        problems = (stopped,)
    return ParsedReport(outcomes=sealed.outcomes, problem="; ".join(problems))


def _list_guard_problems(plan: GuardPlan, guards: tuple[GuardReport, ...]) -> tuple[str, ...]:
    """Return what is wrong around the outcomes of a run, for a worker; a trial on the base shows what is usual."""
    may_hide_exit = plan.is_trial or any(guard.is_exit_hidden for guard in plan.base)
    problems: list[str] = []
    for guard in guards:
        problems += guard.problems
        if guard.is_exit_hidden and not may_hide_exit:
            problems.append(_HIDDEN_EXIT)
        if guard.doubts and not plan.is_trial:
            problems.append(_UNBELIEVABLE.format("; ".join(guard.doubts)))
    return tuple(dict.fromkeys(problems))


def _find_seal_problem(plan: GuardPlan, sealed: SealedReports) -> str:
    expected, found = plan.needed_reports, len(sealed.guards)
    if sealed.unsealed:
        return (
            f"{sealed.unsealed} reports of test outcomes lack the seal of the harness or cannot be read, so none of "
            "this run is believed: leave the reports of the test runner alone, and start no more runs of pytest than "
            "the base does"
        )
    if found < expected:
        return (
            f"{found} of the {expected} runs of pytest that the base's check makes reported to the harness, so the "
            "outcomes of this run are not believed: let pytest come to its end by itself"
        )
    return ""


def drop_guard(plan: GuardPlan) -> GuardPlan:
    """Return the plan without its guard, which the check cannot load."""
    return replace(plan, injection=None, unguarded=NOT_LOADED)


def _read_tail(log: Path) -> bytes:
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL_BYTES))
        return file.read()
