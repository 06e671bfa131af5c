"""Running one check on one tree, in a fresh workspace, into a receipt.

The guard of its test runner goes into the sandbox beside it, under names drawn anew for each run and kept nowhere.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio import to_thread

from orchestrator.domain.event.run import CheckFinished, CheckStarted
from orchestrator.domain.ids import CommitId, TreeId, build_check_id
from orchestrator.domain.judging.check import CheckSpec, Receipt, TestCounts
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.blob_text import Text
from orchestrator.hands.execution.lost_hosts import repeat_on_lost_host
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.judge.gate.check_command import (
    SandboxInjection,
    build_check_command,
    build_run_trace,
    get_receipt_status,
    read_check_report,
)
from orchestrator.judge.gate.drawn_names import draw_names
from orchestrator.judge.gate.flakiness import find_new_flakes
from orchestrator.judge.gate.receipt_reuse import ReceiptReuse
from orchestrator.judge.gate.run_traces import read_run_trace, store_run_trace
from orchestrator.judge.guard.guard_plan import (
    NOT_DECISIVE,
    GuardPlan,
    GuardPlanner,
    describe_missing_guard,
    drop_guard,
    has_broken_run,
    read_guard_result,
    read_guarded_report,
)
from orchestrator.judge.guard.sealed_report import SealedReports
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import CommandEnding, CommandResult, Hands
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.receipt_archive import ReceiptArchive

_PLACES = 2
"""Checks that have a workspace at once, for each that runs: one that waits longer for its turn needs none."""
_ENDS_CHARS = 64 * 1024
_KEPT_BYTES = 1024 * 1024


class CheckedTree(NamedTuple):
    """A tree to be checked: the commit that has it, and what for."""

    commit: CommitId
    tree: TreeId
    purpose: Purpose


class CheckRunner:
    """Runs checks in the hands of this host and books each run in the ledger."""

    def __init__(
        self,
        hands: Hands,
        ledger: Ledger,
        output_bytes: int,
        *,
        has_canaries: bool = True,
        archive: ReceiptArchive | None = None,
    ) -> None:
        """Run checks in these hands; with an `archive` receipts come from earlier runs, and go to later ones."""
        self._hands = hands
        self._ledger = ledger
        self._output_bytes = output_bytes
        self._places = anyio.CapacityLimiter(_PLACES * hands.slots)
        self._planner = GuardPlanner(ledger, has_canaries=has_canaries)
        self._reuse = ReceiptReuse(archive, ledger, has_canaries=has_canaries) if archive else None

    @property
    def environment(self) -> str:
        """A hash of what besides the tree decides an outcome."""
        return self._hands.environment_hash

    @property
    def slots(self) -> int:
        """The number of checks that run at once, now."""
        return self._hands.slots

    def record_calls(self, tree: TreeId, modules: Sequence[str]) -> None:
        """Let guarded checks on a tree record calls of the functions in these modules, by their paths."""
        self._planner.record_calls(tree, modules)

    async def take_earlier_receipt(self, spec: CheckSpec, checked: CheckedTree) -> Receipt | None:
        """Take over the receipt that an earlier run made of the same check on the same tree; None if there is none."""
        if self._reuse is None:
            return None
        _, tree, purpose = checked
        facts = await self._planner.list_guard_facts(spec, tree, self.environment)
        receipt = await self._reuse.take_receipt(spec, tree, self.environment, facts, build_check_key(spec), purpose)
        trace = await read_run_trace(self._ledger, receipt) if receipt else None
        if trace is not None and self._planner.is_base(tree):
            await self._planner.announce_doubts(trace.guards)
        return receipt

    async def keep_receipt(self, spec: CheckSpec, receipt: Receipt) -> None:
        """Keep a receipt that was just made for later runs, where they may have it."""
        if self._reuse is not None:
            facts = await self._planner.list_guard_facts(spec, receipt.tree, self.environment)
            await self._reuse.keep_receipt(spec, receipt, facts)

    async def run_check(self, spec: CheckSpec, checked: CheckedTree, *, narrows: str | None = None) -> Receipt:
        """Run the check on a clean checkout of a tree, guarded where its runner is pytest.

        A check that cannot load the guard on the base is run once more without.

        `narrows` is the key of the check of which it runs only some tests.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        plan = await self._planner.plan_guard(spec, checked.tree, self.environment, narrows)
        receipt, is_broken = await self._run_guarded(spec, checked, plan, narrows)
        if is_broken:
            receipt, _ = await self._run_guarded(spec, checked, drop_guard(plan), narrows)
        return receipt

    async def run_unguarded(
        self, spec: CheckSpec, checked: CheckedTree, beside: SandboxInjection, *, narrows: str | None
    ) -> Receipt:
        """Run a check by which nothing is decided, with something else in place of the guard.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        plan = GuardPlan(unguarded=NOT_DECISIVE, beside=beside)
        receipt, _ = await self._run_guarded(spec, checked, plan, narrows)
        return receipt

    async def _run_guarded(
        self, spec: CheckSpec, checked: CheckedTree, plan: GuardPlan, narrows: str | None
    ) -> tuple[Receipt, bool]:
        """Run the check once; return its receipt, and whether the guard is what kept it from running.

        A run whose host is lost says nothing of the tree: it is made again.
        """
        self._places.total_tokens = _PLACES * self.slots  # hosts come and go
        async with self._places:
            return await repeat_on_lost_host(partial(self._run_in_workspace, spec, checked, plan, narrows))

    async def _run_in_workspace(
        self, spec: CheckSpec, checked: CheckedTree, plan: GuardPlan, narrows: str | None
    ) -> tuple[Receipt, bool]:
        commit, tree, purpose = checked
        key = self._ledger.build_next_key(f"check/{build_check_key(spec)}/{tree}")
        intent = CheckStarted(key=key, check=spec.id, tree=tree, purpose=purpose.text, facts=purpose.facts)
        async with record_effect(self._ledger, intent) as check:
            workspace = await self._hands.open_workspace(commit, purpose.for_check_run(key))
            command = build_check_command(spec, self._output_bytes, plan.sandbox)
            drawn = draw_names(command)
            try:
                result = drawn.restore_names(await run_command(workspace, drawn.command))
            finally:
                await workspace.close()
            sealed = await to_thread.run_sync(read_guard_result, plan, result)
            receipt = await self._build_receipt(key, spec, tree, command.line, result, plan, sealed)
            receipt = receipt.model_copy(update={"narrows": narrows})
            check.done = CheckFinished(key=key, receipt=receipt)
            check.extra_events = await find_new_flakes(self._ledger, receipt)
        if self._planner.is_base(tree):
            await self._planner.announce_doubts(sealed.guards)
        return receipt, await to_thread.run_sync(has_broken_run, plan, sealed, result)

    async def _build_receipt(
        self,
        key: str,
        spec: CheckSpec,
        tree: TreeId,
        line: str,
        result: CommandResult,
        plan: GuardPlan,
        sealed: SealedReports,
    ) -> Receipt:
        report = await to_thread.run_sync(read_check_report, spec, result)
        if result.ending == CommandEnding.EXITED:
            report = await to_thread.run_sync(read_guarded_report, plan, sealed, report, result.log)
        counts, tests = TestCounts(), None
        if report.outcomes is not None:
            counts = TestCounts.count_outcomes(report.outcomes.values())
            stored = json.dumps(report.outcomes, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            tests = await self._ledger.store_bytes(stored.encode())
        trace = build_run_trace(result, sealed.guards, describe_missing_guard(plan, sealed))
        return Receipt(
            key=key,
            check=build_check_key(spec),
            command=spec.run,
            argv=hashlib.sha256(line.encode("utf-8", "surrogateescape")).hexdigest(),
            tree=tree,
            environment=self.environment,
            status=get_receipt_status(result),
            exit_code=result.exit_code,
            seconds=round(result.seconds, 3),
            counts=counts,
            tests=tests,
            trace=await store_run_trace(self._ledger, trace),
            problem=report.problem,
            output=await self._store_output(result, plan.sandbox),
            world=result.world,
        )

    async def _store_output(self, result: CommandResult, injection: SandboxInjection) -> Text:
        text = injection.hide_drawn_names(await to_thread.run_sync(_read_output, result.log))
        if result.detail:
            text = f"{text}\n{result.detail}"
        return await self._ledger.store_text(text)


def build_check_key(spec: CheckSpec) -> str:
    """Return the check's id with a hash of all that defines it: receipts of another definition never count."""
    definition = json.dumps(spec.model_dump(mode="json"), sort_keys=True)
    return build_check_id(spec.id, hashlib.sha256(definition.encode()).hexdigest()[:8])


def _read_output(log: Path) -> str:
    """Return the whole output if it is moderate, else its ends."""
    if log.stat().st_size <= _KEPT_BYTES:
        return log.read_bytes().decode("utf-8", "replace")
    return read_log_ends(log, _ENDS_CHARS)
