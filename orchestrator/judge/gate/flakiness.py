"""Tests that were seen both ways on one tree: they blame nobody, and what they are is learnt over the run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import filterfalse

from orchestrator.domain.event.run import FlakesSeen
from orchestrator.domain.ids import TreeId
from orchestrator.domain.judging.check import REPEATS_CHECK, Difference, Outcomes, Receipt, ReceiptStatus, TestOutcome
from orchestrator.domain.run.state import RunState
from orchestrator.errors import BlobLost
from orchestrator.ports.ledger import Ledger

UNSETTLED_TESTS_TEXT = "tests that pass and fail on this very tree, of which its runs do not tell who is to blame"
MAX_DOUBTED_TESTS = 20
"""With more red tests than this in one run it is not chance, and the tree is not tested again."""


def list_runs(state: RunState, check: str, tree: TreeId, environment: str) -> list[Receipt]:
    """Return every receipt of a check, by its id with its hash, on a tree in an environment, oldest first."""
    wanted = (check, environment)
    return [one for one in state.list_receipts_on(tree) if (one.check, one.environment) == wanted]


def list_runs_like(state: RunState, receipt: Receipt) -> list[Receipt]:
    """Return all completed receipts of the same check, tree and environment, oldest first."""
    runs = list_runs(state, receipt.check, receipt.tree, receipt.environment)
    return [run for run in runs if run.status == ReceiptStatus.COMPLETED]


def list_looks(state: RunState, check: str, tree: TreeId, environment: str) -> list[Receipt]:
    """Return the completed runs of a check on a tree, also those of only some of its tests, oldest first.

    Runs that repeat tests in one process are none: what one round leaves behind may break the next.
    """
    found = []
    for receipt in state.list_receipts_on(tree):
        if receipt.kind == REPEATS_CHECK or receipt.environment != environment:
            continue
        if check in {receipt.check, receipt.narrows} and receipt.status == ReceiptStatus.COMPLETED:
            found.append(receipt)
    return found


async def read_outcomes(ledger: Ledger, receipt: Receipt) -> Mapping[str, TestOutcome] | None:
    """Return test id → outcome of a receipt, None where the check tells only its exit code.

    Raises:
        BlobLost: a damaged journal has lost them.
    """
    if receipt.tests is None:
        return None
    stored = json.loads(await ledger.read_bytes(receipt.tests))
    return {test: TestOutcome(outcome) for test, outcome in stored.items()}


async def read_known_outcomes(ledger: Ledger, receipts: Iterable[Receipt]) -> list[Outcomes]:
    """Return the outcomes of those receipts that tell any and still have them."""
    found: list[Outcomes] = []
    for receipt in receipts:
        with suppress(BlobLost):
            if (outcomes := await read_outcomes(ledger, receipt)) is not None:
                found.append(outcomes)
    return found


def find_tests_seen_both_ways(runs: Sequence[Outcomes]) -> frozenset[str]:
    """Return the tests that were red in one run and ran without being red in another."""
    red, not_red = set[str](), set[str]()
    for run in runs:
        for test, outcome in run.items():
            (red if outcome.is_red else not_red).add(test)
    return frozenset(red & not_red)


async def find_new_flakes(ledger: Ledger, receipt: Receipt) -> tuple[FlakesSeen, ...]:
    """Return the tests that a receipt which is about to be recorded shows to be flaky, and no earlier one did."""
    check = receipt.narrows or receipt.check
    earlier = list_looks(ledger.state, check, receipt.tree, receipt.environment)
    if not earlier or receipt.kind == REPEATS_CHECK or receipt.status != ReceiptStatus.COMPLETED:
        return ()
    before = await read_known_outcomes(ledger, earlier)
    after = [*before, *await read_known_outcomes(ledger, [receipt])]
    new = find_tests_seen_both_ways(after) - find_tests_seen_both_ways(before)
    if not new:
        return ()
    keys = (earlier[-1].key, receipt.key)
    return (FlakesSeen(check=check, tree=receipt.tree, flaky=tuple(sorted(new)), receipts=keys),)


def exclude_flaky_failures(last: Difference, both_ways: frozenset[str]) -> Difference:
    """Return what the newest run of a tree says, given what was seen both ways in all of its runs.

    A test that is red in one run alone blames nobody. Where such tests are all that is red, nothing is settled.
    """
    blamed = tuple(filterfalse(both_ways.__contains__, last.new_failures))
    rest = last.model_copy(update={"new_failures": blamed, "flaky": tuple(sorted(both_ways))})
    if rest.is_green:
        return rest.model_copy(update={"unsettled": tuple(filter(both_ways.__contains__, last.new_failures))})
    return rest


def count_runs_allowed(state: RunState, difference: Difference, reruns: int) -> int:
    """Return how often in all a tree may be tested of which this difference is known.

    That is `reruns` times more than once if tests are all that is red, and still once more if each of them is known as
    flaky from another tree.
    """
    red = (*difference.new_failures, *difference.unsettled)
    if not difference.needs_rerun or len(red) > MAX_DOUBTED_TESTS or not reruns:
        return 0
    is_known = all(state.flaky[test] > (test in difference.flaky) for test in red)
    return 1 + reruns + is_known
