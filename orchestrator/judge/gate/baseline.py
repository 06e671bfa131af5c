"""Problems of the base's receipts: if a gate can judge by them, and what a person should know."""

import re
from collections.abc import Iterator

from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptStatus
from orchestrator.domain.text.lazy_pattern import compile_lazily

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
"""What a shell says of a command that it does not know, and of one that it cannot execute."""
_NO_MODULE = compile_lazily(r"No module named '?([\w.]+)")
_NO_NETWORK = compile_lazily(
    r"Temporary failure in name resolution|Name or service not known|Could not resolve host|Network is unreachable"
    r"|EAI_AGAIN|ENETUNREACH"
)
"""Words of programs that need a network where there is none."""
_TESTS_RUN = compile_lazily(r"^Ran ([1-9]\d*) tests? in ", re.MULTILINE)
"""The count that unittest prints at its end, also where it names no test."""
_INSTALL = (
    'let the run install it by deps under [env] of orchestrate.toml, for example deps = ["requirements.txt"] '
    "(a fresh clone has no environment to lend, docs/tiers.md), install it into the environment of your checkout "
    "(.venv or node_modules), or bind where it lies (read_only under [hands], --read-only DIR)"
)


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
        return f"{what} was not found in the sandbox: {_INSTALL}"
    if receipt.counts.total == 0 and receipt.exit_code == _NOT_EXECUTABLE:
        return f"{what} cannot be executed in the sandbox: commit it as executable, or name its interpreter"
    if module := _find_missing_module(spec, receipt):
        return f"{what} ran no test, because the sandbox has no Python module {module}: {_INSTALL}"
    if is_migration and is_red_without_tests(receipt):
        return (
            f"{what} exits {receipt.exit_code} on the base, before anything changed, and does not tell which tests "
            "are red: mend it, or let it report tests (report, see docs/judging.md)"
        )
    if not receipt.counts.total and receipt.tests is not None and (ran := _TESTS_RUN.search(receipt.output.head)):
        return (
            f"{what} ran {ran[1]} tests on the base and named none of them: have it print each (unittest: -v, not -q)"
        )
    if receipt.tests is not None and receipt.counts.total == receipt.counts.errors:
        return (
            f"{what} ran no test on the base: nothing could ever be judged by it; commit a first test, or give a "
            "--gate that runs some"
        )
    return ""


def _find_missing_module(spec: CheckSpec, receipt: Receipt) -> str:
    """Return the module for lack of which the command ran no test; empty if there is none.

    A command without a report of tests has to name it by `-m`: what else it lacks may be what the run is to write.
    """
    ran_tests = receipt.counts.total > receipt.counts.errors
    if receipt.status != ReceiptStatus.COMPLETED or receipt.exit_code == 0 or ran_tests:
        return ""
    found = _NO_MODULE.search(receipt.output.head)
    if found is None:
        return ""
    is_named = re.search(rf"-m\s+{re.escape(found[1])}\b", spec.run)
    return found[1] if is_named or receipt.tests is not None else ""


def list_baseline_doubts(receipt: Receipt, output: str) -> Iterator[str]:
    """Yield what a person should know of a baseline that can be judged by, but not as well as one might think.

    `output` is all that the command printed.
    """
    if receipt.problem:
        yield f"the report of `{receipt.command}` on the base is not whole, so a loss may go unseen: {receipt.problem}"
    if is_red_without_tests(receipt):
        yield (
            f"the gate was red before anything changed: `{receipt.command}` exits {receipt.exit_code} on the base and "
            "tells no tests, so nothing lands unless it makes that 0; a gate that reports tests (report, see "
            "docs/judging.md) would let through what makes nothing worse"
        )
    if receipt.exit_code != 0 and (said := _NO_NETWORK.search(output)):
        yield (
            f"the gate seems to need the network, which commands do not have (it printed: {said[0]}): leave out the "
            "tests that do, let them talk to a server that they start on 127.0.0.1, or have what they download "
            "installed by deps under [env] (docs/tiers.md)"
        )


_MENDED_BY = {
    ReceiptStatus.TIMED_OUT: ": raise timeout_s",
    ReceiptStatus.OUTPUT_LIMIT: ": make it quieter or raise the limit",
}
