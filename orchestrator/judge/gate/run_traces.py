"""Traces of check runs: kept as blobs beside their receipts, read back for rules that compare them."""

from collections.abc import Iterable
from contextlib import suppress

from pydantic import ValidationError

from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.judging.run_trace import RunTrace
from orchestrator.errors import BlobLost
from orchestrator.ports.ledger import Ledger


async def store_run_trace(ledger: Ledger, trace: RunTrace) -> str | None:
    """Store a trace; return the sha of its blob, None if it says nothing."""
    if trace == RunTrace():
        return None
    return await ledger.store_bytes(trace.model_dump_json(exclude_defaults=True).encode())


async def read_run_trace(ledger: Ledger, receipt: Receipt) -> RunTrace | None:
    """Return the trace behind a receipt; None where nobody looked, or a damaged journal lost it."""
    if receipt.trace is None:
        return None
    with suppress(BlobLost, ValidationError):
        return RunTrace.model_validate_json(await ledger.read_bytes(receipt.trace))
    return None


async def read_run_traces(ledger: Ledger, receipts: Iterable[Receipt]) -> list[RunTrace]:
    """Return the traces that there are behind some receipts, in their order."""
    found = []
    for receipt in receipts:
        if (trace := await read_run_trace(ledger, receipt)) is not None:
            found.append(trace)
    return found
