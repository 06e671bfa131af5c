"""The cost of flaky tests: runs of a check on a tree on which it had run before."""

from collections.abc import Iterable

from orchestrator.domain.ids import TreeId
from orchestrator.domain.judging.check import Receipt


def list_reruns(receipts: Iterable[Receipt]) -> list[Receipt]:
    """Return those of the receipts, oldest first, whose check had run on the same tree before, wholly or in part."""
    seen, found = set[tuple[str, TreeId, str]](), []
    for receipt in receipts:
        place = (receipt.narrows or receipt.check, receipt.tree, receipt.environment)
        if place in seen:
            found.append(receipt)
        seen.add(place)
    return found
