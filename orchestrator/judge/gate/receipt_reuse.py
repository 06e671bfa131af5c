"""Receipts that a run takes over from earlier ones and leaves for later ones: the same check, tree and environment.

Only what a check said in full counts. Of the base that is any run that came to its end; of other trees a green one,
with the same base, of a tree that was never red. A run of the checks that is to be new never asks here.
"""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress

from orchestrator import __version__
from orchestrator.domain.event.run import CheckReused, CheckStarted
from orchestrator.domain.ids import TreeId
from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptOrigin, ReceiptStatus
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.blob_text import Text
from orchestrator.errors import JournalProblem
from orchestrator.judge.gate.flakiness import list_runs_like
from orchestrator.judge.gate.run_traces import read_run_trace
from orchestrator.judge.guard.guard_plan import GUARDED_FORMATS
from orchestrator.ports.effect import record_effect
from orchestrator.ports.ledger import Ledger
from orchestrator.ports.receipt_archive import ArchivedReceipt, ReceiptArchive

_DESIGN = 1
"""Raised when a check comes to be run, guarded or read in another way within one version."""


class ReceiptReuse:
    """Finds and keeps receipts for one run."""

    def __init__(self, archive: ReceiptArchive, ledger: Ledger, *, has_canaries: bool) -> None:
        self._archive = archive
        self._ledger = ledger
        self._has_canaries = has_canaries

    async def take_receipt(
        self, spec: CheckSpec, tree: TreeId, environment: str, guard_facts: Sequence[str], check: str, purpose: Purpose
    ) -> Receipt | None:
        """Record a receipt of an earlier run as the end of a check of this run; None where there is none.

        `guard_facts` tell how a run of the check would be guarded, `check` is the key of its definition.
        """
        name = self._build_name(spec, tree, environment, guard_facts)
        archived = await self._archive.read_receipt(name)
        if archived is None or not self._fits(archived.receipt, check, tree, environment):
            return None
        key = self._ledger.build_next_key(f"check/{check}/{tree}")
        intent = CheckStarted(key=key, check=spec.id, tree=tree, purpose=purpose.text, facts=purpose.facts)
        async with record_effect(self._ledger, intent) as happening:
            happening.done = CheckReused(key=key, receipt=await self._copy_receipt(archived, key))
        return self._ledger.state.receipts[key]

    async def keep_receipt(self, spec: CheckSpec, receipt: Receipt, guard_facts: Sequence[str]) -> None:
        """Keep a receipt of this run for later ones; or see to it that none is kept of what is flaky or red.

        Of the base that is the first run, for which nobody had said yet how it is to be guarded.
        """
        if receipt.status != ReceiptStatus.COMPLETED or receipt.narrows is not None or receipt.origin is not None:
            return
        name = self._build_name(spec, receipt.tree, receipt.environment, guard_facts)
        if not self._is_settled(receipt):
            await self._archive.remove_receipt(name)
            await self._archive.remove_receipt(self._build_base_name(spec, receipt))
            return
        if self._is_base(receipt.tree) and len(list_runs_like(self._ledger.state, receipt)) > 1:
            return
        with suppress(JournalProblem, UnicodeDecodeError):
            archived = await self._archive_receipt(receipt)
            await self._archive.write_receipt(name, archived)
            if not self._is_base(receipt.tree) and await self._can_be_base(spec, receipt):
                await self._archive.write_receipt(self._build_base_name(spec, receipt), archived)

    def _is_base(self, tree: TreeId) -> bool:
        return tree == self._ledger.state.run.base_tree

    def _is_settled(self, receipt: Receipt) -> bool:
        """Return True if all runs of the check on the tree say the same; of another tree than the base's, green."""
        runs = list_runs_like(self._ledger.state, receipt)
        if self._is_base(receipt.tree):
            return all((run.exit_code, run.counts) == (receipt.exit_code, receipt.counts) for run in runs)
        return _is_green(receipt) and all(map(_is_green, runs))

    async def _can_be_base(self, spec: CheckSpec, receipt: Receipt) -> bool:
        """Return True if a later run that begins from the tree can compare with the receipt as with a first run of it.

        Its guards have to have told all that a first run on a base tells.
        """
        if spec.report not in GUARDED_FORMATS:
            return True
        trace = await read_run_trace(self._ledger, receipt)
        if trace is None or not trace.guards:
            return False
        return not self._has_canaries or all(guard.canaries and not guard.doubts for guard in trace.guards)

    def _build_name(self, spec: CheckSpec, tree: TreeId, environment: str, guard_facts: Sequence[str]) -> str:
        """Return the hash of all that decides a receipt; of trees other than the base also of the base's guards."""
        if self._is_base(tree):
            return self._hash_facts(spec, tree, environment)
        return self._hash_facts(spec, tree, environment, self._ledger.state.run.base_tree, *guard_facts)

    def _build_base_name(self, spec: CheckSpec, receipt: Receipt) -> str:
        return self._hash_facts(spec, receipt.tree, receipt.environment)

    def _hash_facts(self, spec: CheckSpec, tree: TreeId, environment: str, *more: str) -> str:
        definition = spec.model_dump(mode="json")
        facts = [_DESIGN, __version__, self._has_canaries, definition, tree, environment, *more]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()

    def _fits(self, receipt: Receipt, check: str, tree: TreeId, environment: str) -> bool:
        """Return True if a receipt is what its name says; a name is a hash, so all others are damaged or forged."""
        is_same = (receipt.check, receipt.tree, receipt.environment) == (check, tree, environment)
        is_whole = receipt.status == ReceiptStatus.COMPLETED and receipt.narrows is None and receipt.origin is None
        return is_same and is_whole and (self._is_base(tree) or _is_green(receipt))

    async def _archive_receipt(self, receipt: Receipt) -> ArchivedReceipt:
        """Return the receipt as it was recorded, with its texts.

        Raises:
            JournalProblem: a text of it is missing.
            UnicodeDecodeError: one is not as it was made.
        """
        recorded = self._ledger.state.receipts[receipt.key]
        return ArchivedReceipt(
            run=self._ledger.state.run.run,
            receipt=recorded.model_copy(update={"output": Text()}),
            tests=await self._read_blob(recorded.tests),
            trace=await self._read_blob(recorded.trace),
            output=await self._ledger.read_text(recorded.output),
        )

    async def _read_blob(self, sha: str | None) -> str | None:
        return None if sha is None else (await self._ledger.read_bytes(sha)).decode()

    async def _copy_receipt(self, archived: ArchivedReceipt, key: str) -> Receipt:
        """Return the receipt under a key of this run, with its texts among this run's blobs, redacted once more."""
        receipt = archived.receipt
        copied = {
            "key": key,
            "tests": await self._store_blob(archived.tests),
            "trace": await self._store_blob(archived.trace),
            "output": await self._ledger.store_text(archived.output),
            "origin": ReceiptOrigin(run=archived.run, key=receipt.key),
        }
        return receipt.model_copy(update=copied)

    async def _store_blob(self, text: str | None) -> str | None:
        return None if text is None else await self._ledger.store_bytes(text.encode())


def _is_green(receipt: Receipt) -> bool:
    return receipt.exit_code == 0 and not receipt.problem and not (receipt.counts.failed or receipt.counts.errors)
