"""Receipts of earlier runs of a repository, as checks see them. Whatever an archive has lost costs a run of a check."""

from typing import Protocol

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId
from orchestrator.domain.judging.check import Receipt


class ArchivedReceipt(FrozenModel):
    """A receipt with the texts that it names: the outcomes of its tests, its trace, and all that it printed.

    `run` is the run that made it. Every text is as that run recorded it, without secrets.
    """

    run: RunId
    receipt: Receipt
    tests: str | None = None
    trace: str | None = None
    output: str = ""


class ReceiptArchive(Protocol):
    """Receipts by the hash of everything that decides them. Several runs may use it at a time; nothing is raised."""

    async def read_receipt(self, name: str) -> ArchivedReceipt | None:
        """Return the receipt of this name; None if there is none, or it is damaged or too old."""

    async def write_receipt(self, name: str, archived: ArchivedReceipt) -> None:
        """Keep a receipt under this name in place of another one."""

    async def remove_receipt(self, name: str) -> None:
        """Keep no receipt under this name any more."""
