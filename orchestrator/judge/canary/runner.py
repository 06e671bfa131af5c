"""Canary runs: tests of the harness in place of a tree's own tell if the outcomes that it reports can be believed.

Code of a tree runs in the same process as its tests, and can make them say anything. So the gate runs once more with
tests of which it is known beforehand how they end. They cost no more than collecting: none of the project's runs.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.resources import files

import anyio
from anyio import to_thread

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, Purpose, TreeId
from orchestrator.domain.judging.check import (
    CANARY_CHECK,
    CheckSpec,
    Difference,
    Outcomes,
    Receipt,
    ReceiptStatus,
    ReportFormat,
    TestOutcome,
)
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import BlobLost
from orchestrator.judge.gate import check_command, check_runner
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner
from orchestrator.judge.gate.flakiness import list_runs, read_outcomes
from orchestrator.judge.reports import is_test_id
from orchestrator.judge.reports.pytest_text import count_tests_of_runs
from orchestrator.ports.gate import GateResult
from orchestrator.ports.ledger import Ledger, record_notice_once

CANARY_MODULE = "canary"
_LOADING_SCRIPT = """\
read -r canary && mkdir "${FILE%/*}/$canary" && cat >"${FILE%/*}/$canary/$canary.py"; exec </dev/null
export PYTHONPATH="${FILE%/*}/$canary${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p $canary"
unset canary
""".replace("FILE", check_command.REPORT_VARIABLE)
CANARY_TESTS: Mapping[str, str] = {
    "must_pass": "that must pass",
    "must_fail_by_assert": "that must fail by `assert`",
    "must_fail_by_raise": "that must fail by an exception",
    "must_fail_by_unittest": "that must fail by `assertEqual`",
    "must_fail_by_raises": "that must fail by `pytest.raises`",
    "must_fail_by_approx": "that must fail by `pytest.approx`",
}
"""The tests of `pytest_plugin`, in words."""
_KINDS = {name.replace("_", "-"): words for name, words in CANARY_TESTS.items()}
_ID = compile_lazily(rf"({CANARY_MODULE}_\d+)::(must-[a-z-]+)\Z")
_MUST_PASS = "must-pass"
_ENDED = {
    TestOutcome.PASSED: "passed",
    TestOutcome.FAILED: "failed",
    TestOutcome.ERROR: "could not be run, or failed beside its own code",
    TestOutcome.SKIPPED: "was skipped",
    TestOutcome.XFAILED: "was expected to fail",
    TestOutcome.XPASSED: "passed unexpectedly",
}
_TRIES = 2
_UNBELIEVABLE = (
    "what this tree says of its tests cannot be believed: the harness ran tests of its own in their place, and {}. "
    "Take out whatever ends the run, or changes what tests report, compare or raise"
)


class CanaryRunner:
    """Canary runs of a check. On the base they show first that they behave there; else they are off for the run.

    Outcomes that can be believed are not proven: code that reads the plugin in its own process can play along.
    """

    def __init__(self, runner: CheckRunner, ledger: Ledger, check: CheckSpec) -> None:
        self._runner = runner
        self._ledger = ledger
        self._gate = check
        self._spec = check.model_copy(update={"id": CANARY_CHECK, "report": ReportFormat.JUNIT})
        self._trial = anyio.Lock()

    async def check_tree(self, commit: CommitId, tree: TreeId, purpose: Purpose) -> GateResult | None:
        """Return green if the canaries end on this tree as they have to, and as on the base; None if they are off.

        Raises:
            EnvironmentProblem: they could not be run at all.
        """
        base = await self._run_on_base()
        if base is None:
            return None
        checked = CheckedTree(commit, tree, purpose.with_detail("canaries"))
        receipt, doubt = await self._run_canaries(checked, base.exit_code)
        problems = (_UNBELIEVABLE.format(doubt),) if doubt else ()
        return GateResult(tree=tree, difference=Difference(problems=problems), receipts=(receipt.key,))

    async def _run_on_base(self) -> Receipt | None:
        """Return the receipt of canaries that behave on the base; None if they do not, which people are told once."""
        run = self._ledger.state.run
        async with self._trial:
            if not await self._is_pytest():
                await self._announce_off("runner", "the gate's runner does not seem to be pytest")
                return None
            base = CheckedTree(run.base, run.base_tree, Purpose("canaries on the base"))
            receipt, doubt = await self._run_canaries(base, None)
            if doubt:
                await self._announce_off("base", f"on the base, {doubt}")
        return None if doubt else receipt

    async def _is_pytest(self) -> bool:
        """Return True if it is worth a try: by the gate's words, or by what it printed on the base."""
        if "pytest" in self._gate.run or "py.test" in self._gate.run:
            return True
        known = self._ledger.state.get_baseline_receipts().get(check_runner.build_check_key(self._gate))
        return known is not None and bool(count_tests_of_runs(await self._ledger.read_text(known.output)))

    async def _announce_off(self, subject: str, why: str) -> None:
        text = f"no canaries in this run, so outcomes that code has forged may go unseen: {why}"
        notice = Noticed(level="info", code=NoticeCode.CANARIES_OFF, subject=subject, text=text)
        await record_notice_once(self._ledger, notice)

    async def _run_canaries(self, tree: CheckedTree, exit_code: int | None) -> tuple[Receipt, str]:
        """Return the last receipt, and what is wrong with it; a run that came out wrong is repeated once."""
        known = await self._list_known(tree.tree)
        for number in range(_TRIES):
            if number < len(known):
                receipt, outcomes = known[number]
            else:
                injection = await to_thread.run_sync(build_canary_injection, CANARY_TESTS)
                receipt = await self._runner.run_check(self._spec, tree, injection)
                outcomes = await read_outcomes(self._ledger, receipt) or {}
            doubt = find_canary_doubt(receipt, outcomes, exit_code)
            if not doubt:
                break
        return receipt, doubt

    async def _list_known(self, tree: TreeId) -> list[tuple[Receipt, Outcomes]]:
        """Return earlier runs on a tree, in order; without those whose outcomes a damaged journal lost."""
        known = []
        for receipt in list_runs(
            self._ledger.state, check_runner.build_check_key(self._spec), tree, self._runner.environment
        ):
            with suppress(BlobLost):
                known.append((receipt, await read_outcomes(self._ledger, receipt) or {}))
        return known


def build_canary_injection(tests: Iterable[str]) -> check_command.SandboxInjection:
    """Return the plugin with these of its tests, with names that are drawn anew. Blocks while it is read."""
    source = files("orchestrator.judge.canary").joinpath("pytest_plugin.py").read_text()
    plugin, module = f"p{secrets.token_hex(5)}", f"test_{secrets.token_hex(5)}"
    drawn_names, recorded_names = {}, {plugin: "plugin", module: CANARY_MODULE}
    for test in tests:
        drawn = f"test_{secrets.token_hex(5)}"
        drawn_names[test] = drawn
        recorded_names[drawn] = test.replace("_", "-")
    text = f"{plugin}\n{source}\n\nMODULE = {module!r}\nNAMES = {drawn_names!r}\n"
    return check_command.SandboxInjection(_LOADING_SCRIPT, text, recorded_names)


def find_canary_doubt(receipt: Receipt, outcomes: Outcomes, exit_code: int | None) -> str:
    """Return what is wrong with a canary run, or nothing; it goes on from "the harness ran tests of its own, and".

    Args:
        receipt: of the run.
        outcomes: what it reported; what names no test, such as a module that cannot be imported, is left to the gate.
        exit_code: how the same run ended on the base; None if this is the run on the base.
    """
    if receipt.status != ReceiptStatus.COMPLETED:
        return f"that run did not end by itself ({receipt.status})"
    return next(_find_doubts(receipt, outcomes, exit_code), "")


def _find_doubts(receipt: Receipt, outcomes: Outcomes, exit_code: int | None) -> Iterator[str]:
    if receipt.problem or not outcomes:
        yield f"{receipt.problem or 'no test was reported'} (exit code {receipt.exit_code})"
    groups: dict[str, dict[str, TestOutcome]] = {}
    for test, outcome in outcomes.items():
        if found := _ID.match(test):
            groups.setdefault(found[1], {})[found[2]] = outcome
        elif is_test_id(test):
            yield f"an outcome came of {test}, which did not run"
    if not groups:
        yield f"no canary was reported (exit code {receipt.exit_code})"
    for group in groups.values():
        yield from _find_wrong_endings(group)
    if exit_code is not None and receipt.exit_code != exit_code:
        yield f"the run exits with {receipt.exit_code}; on the base, where the same tests fail, with {exit_code}"


def _find_wrong_endings(group: Outcomes) -> Iterator[str]:
    """Yield what is wrong in one set of canaries."""
    for kind, words in _KINDS.items():
        wanted = TestOutcome.PASSED if kind == _MUST_PASS else TestOutcome.FAILED
        outcome = group.get(kind)
        if outcome is None:
            yield f"nothing was reported of the one {words}"
        elif outcome != wanted:
            yield f"the one {words} {_ENDED[outcome]}"
