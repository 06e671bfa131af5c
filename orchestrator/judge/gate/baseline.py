"""Problems of the base's receipts: if a gate can judge by them, and what a person should know."""

from collections.abc import Iterator

from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptStatus

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""What a shell says of a command that it does not know, and of one that it cannot execute."""


def describe_broken_run(spec: CheckSpec, receipt: Receipt) -> str:
    """Return how a check ended without having said anything of the tree; empty if it ran to its end."""
    match receipt.status:
        case ReceiptStatus.TIMED_OUT:
            return f"did not end within {spec.timeout_s:g} s"
        case ReceiptStatus.OUTPUT_LIMIT:
            return "printed more than [hands] output_mb allows"
        case ReceiptStatus.KILLED:
            why = f" by a limit under [hands] ({receipt.problem.rstrip('.')})" if receipt.problem else ""
            return f"was killed after {receipt.seconds:.0f} s{why}"
    return ""


def is_red_without_tests(receipt: Receipt) -> bool:
    """Return True if the check exits with an error and does not tell which tests are red."""
    return receipt.status == ReceiptStatus.COMPLETED and receipt.tests is None and receipt.exit_code != 0


def find_baseline_problem(spec: CheckSpec, receipt: Receipt, *, is_migration: bool) -> str:
    """Return why the receipt of the base cannot be compared with, for somebody who has to mend it; or nothing.

    Of a migration each file has to be judged for itself, so that a gate which only all files together could mend would
    tell nothing of any.
    """
    what = f"the gate command `{spec.run}`"
    if ended := describe_broken_run(spec, receipt):
        return f"on the base, before anything changed, {what} {ended}{_MENDED_BY.get(receipt.status, '')}"
    if receipt.counts.total == 0 and receipt.exit_code == _NOT_FOUND:
        return (
            f"{what} was not found in the sandbox: install it into the project's environment, or bind where it lies "
            "with --read-only DIR"
        )
    if receipt.counts.total == 0 and receipt.exit_code == _NOT_EXECUTABLE:
        return f"{what} cannot be executed in the sandbox: commit it as executable, or name its interpreter"
    if is_migration and is_red_without_tests(receipt):
        return (
            f"{what} exits {receipt.exit_code} on the base, before anything changed, and does not tell which tests "
            "are red: mend it, or let it report tests (report = junit, tap, pytest-rA or unittest)"
        )
    if receipt.tests is not None and receipt.counts.total == receipt.counts.errors:
        return (
            f"{what} ran no test on the base: nothing could ever be judged by it; commit a first test, or give a "
            "--gate that runs some"
        )
    return ""


def list_baseline_doubts(receipt: Receipt) -> Iterator[str]:
    """Yield what a person should know of a baseline that can be judged by, but not as well as one might think."""
    if receipt.problem:
        yield f"the report of `{receipt.command}` on the base is not whole, so a loss may go unseen: {receipt.problem}"
    if is_red_without_tests(receipt):
        yield (
            f"the gate was red before anything changed: `{receipt.command}` exits {receipt.exit_code} on the base and "
            "tells no tests, so nothing lands unless it makes that 0; a gate that reports tests (report = junit, tap, "
            "pytest-rA or unittest) would let through what makes nothing worse"
        )


_MENDED_BY = {
    ReceiptStatus.TIMED_OUT: ": raise timeout_s",
    ReceiptStatus.OUTPUT_LIMIT: ": make it quieter or raise the limit",
}
