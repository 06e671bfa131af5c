"""Running one check on one tree, in a fresh workspace, into a receipt.

Files may be put into the sandbox beside it, under names drawn anew for each run and kept nowhere.
"""

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from anyio import to_thread

from orchestrator.domain.event.run import CheckFinished, CheckStarted
from orchestrator.domain.ids import CommitId, Purpose, TreeId, build_check_id
from orchestrator.domain.judging.check import CheckSpec, Receipt, TestCounts
from orchestrator.domain.text.blob_text import Text
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.judge.gate.check_command import (
    NO_INJECTION,
    SandboxInjection,
    build_check_command,
    build_run_trace,
    get_receipt_status,
    read_check_report,
)
from orchestrator.judge.gate.drawn_names import draw_names
from orchestrator.judge.gate.flakiness import find_new_flakes
from orchestrator.judge.gate.run_traces import store_run_trace
from orchestrator.ports.effect import record_effect
from orchestrator.ports.hands import CommandResult, Hands
from orchestrator.ports.ledger import Ledger

_ENDS_CHARS = 64 * 1024
_KEPT_BYTES = 1024 * 1024


class CheckedTree(NamedTuple):
    """A tree to be checked: the commit that has it, and what for."""

    commit: CommitId
    tree: TreeId
    purpose: Purpose


class CheckRunner:
    """Runs checks in the hands of this host and books each run in the ledger."""

    def __init__(self, hands: Hands, ledger: Ledger, output_bytes: int) -> None:
        self._hands = hands
        self._ledger = ledger
        self._output_bytes = output_bytes

    @property
    def environment(self) -> str:
        """A hash of what besides the tree decides an outcome."""
        return self._hands.environment_hash

    async def run_check(
        self,
        spec: CheckSpec,
        checked: CheckedTree,
        injection: SandboxInjection = NO_INJECTION,
        *,
        narrows: str | None = None,
    ) -> Receipt:
        """Run the check on a clean checkout of a tree, with an `injection` beside it.

        `narrows` is the key of the check of which it runs only some tests.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        commit, tree, purpose = checked
        key = self._ledger.build_next_key(f"check/{build_check_key(spec)}/{tree}")
        intent = CheckStarted(key=key, check=spec.id, tree=tree, purpose=purpose.text, facts=purpose.facts)
        async with record_effect(self._ledger, intent) as check:
            workspace = await self._hands.open_workspace(commit, purpose)
            command = build_check_command(spec, self._output_bytes, injection)
            drawn = draw_names(command)
            try:
                result = drawn.restore_names(await run_command(workspace, drawn.command))
            finally:
                await workspace.close()
            receipt = await self._build_receipt(key, spec, tree, command.line, result, injection)
            receipt = receipt.model_copy(update={"narrows": narrows})
            check.done = CheckFinished(key=key, receipt=receipt)
            check.extra_events = await find_new_flakes(self._ledger, receipt)
        return receipt

    async def _build_receipt(
        self, key: str, spec: CheckSpec, tree: TreeId, line: str, result: CommandResult, injection: SandboxInjection
    ) -> Receipt:
        report = await to_thread.run_sync(read_check_report, spec, result)
        counts, tests, problem = TestCounts(), None, report.problem
        if report.outcomes is not None:
            outcomes = {injection.hide_drawn_names(test): outcome for test, outcome in report.outcomes.items()}
            counts = TestCounts.count_outcomes(outcomes.values())
            stored = json.dumps(outcomes, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            tests = await self._ledger.store_bytes(stored.encode())
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
            trace=await store_run_trace(self._ledger, build_run_trace(result)),
            problem=problem,
            output=await self._store_output(result, injection),
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
