"""Repeat runs: one look at a green tree says little of a test that the change makes fail half the time.

A repeat run looks at the tests which reach changed code many times in one process, for little more than one start of
pytest. It decides nothing: a test that was red in it is looked at again one process at a time, as any that was red in
the gate, unless it is red when it is repeated on the base as well.
"""

import re
import secrets
from collections.abc import Sequence
from importlib.resources import files

from anyio import to_thread

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import REPEATS_CHECK, CheckSpec, Outcomes, ReportFormat
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.gate import check_command, check_runner
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner
from orchestrator.judge.gate.flakiness import list_runs, read_known_outcomes
from orchestrator.judge.reports import is_test_id
from orchestrator.judge.reports.pytest_text import count_tests_of_runs
from orchestrator.ports.ledger import Ledger

ROUNDS = 9
"""A test that fails half the time is red in one of so many rounds in 998 of 1,000 cases."""
_LEAST_SECONDS = 1.0
_SHARE_OF_GATE = 0.05
"""A run beside the gate begins nothing further after this part of the time that the gate takes."""
_LOADING_SCRIPT = """\
read -r plugin && mkdir "${FILE%/*}/$plugin" && cat >"${FILE%/*}/$plugin/$plugin.py"; exec </dev/null
export PYTHONPATH="${FILE%/*}/$plugin${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p $plugin"
unset plugin
""".replace("FILE", check_command.REPORT_VARIABLE)
_ROUND = compile_lazily(r" #\d+\Z")


class RepeatRunner:
    """Repeat runs of a check whose runner is pytest; any other runner has none."""

    def __init__(self, runner: CheckRunner, ledger: Ledger, check: CheckSpec) -> None:
        self._runner = runner
        self._ledger = ledger
        self._gate = check
        self._spec = check.model_copy(update={"id": REPEATS_CHECK, "report": ReportFormat.JUNIT})

    async def find_suspects(
        self, commit: CommitId, tree: TreeId, purpose: Purpose, changed: Sequence[str]
    ) -> Sequence[str]:
        """Return the tests that fail in one of many rounds on a tree, and in none on the base.

        Args:
            commit: of the tree, which is green so far.
            tree: to look at.
            purpose: what it is for, in receipts.
            changed: the files that the change touches.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        if not await has_pytest(self._ledger, self._gate):
            return ()
        red = await self._list_red_tests(CheckedTree(commit, tree, purpose.with_detail("repeated")), changed)
        if not red:
            return ()
        run = self._ledger.state.run
        base = CheckedTree(run.base, run.base_tree, Purpose("the base, repeated"))
        return sorted(red - await self._list_red_tests(base, changed))

    async def _list_red_tests(self, tree: CheckedTree, changed: Sequence[str]) -> set[str]:
        """Return the tests that were red in any round on a tree, which is run only if it never was."""
        key = check_runner.build_check_key(self._spec)
        runs = list_runs(self._ledger.state, key, tree.tree, self._runner.environment)
        if not runs:
            limit = measure_time_limit(self._ledger, self._gate, _LEAST_SECONDS)
            injection = await to_thread.run_sync(_build_injection, tuple(changed), limit)
            whole = check_runner.build_check_key(self._gate)
            runs = [await self._runner.run_unguarded(self._spec, tree, injection, narrows=whole)]
        red = set[str]()
        for outcomes in await read_known_outcomes(self._ledger, runs):
            red |= _merge_rounds(outcomes)
        return red


async def has_pytest(ledger: Ledger, check: CheckSpec) -> bool:
    """Return True if the runner of a check is pytest, as far as its run on the base tells."""
    baseline = ledger.state.get_baseline_receipts().get(check_runner.build_check_key(check))
    if baseline is None or baseline.tests is None:
        return False
    if "pytest" in check.run:
        return True
    return bool(count_tests_of_runs(await ledger.read_text(baseline.output)))


def measure_time_limit(ledger: Ledger, check: CheckSpec, least_s: float) -> float:
    """Return for how many seconds a run beside the gate may begin something new: `least_s` or a share of the gate's."""
    baseline = ledger.state.get_baseline_receipts()[check_runner.build_check_key(check)]
    return max(least_s, _SHARE_OF_GATE * baseline.seconds)


def _merge_rounds(outcomes: Outcomes) -> set[str]:
    """Return the tests that were red in a round; reports number what has the same name."""
    red = set[str]()
    for test, outcome in outcomes.items():
        if outcome.is_red and is_test_id(test):
            red.add(re.sub(_ROUND.pattern, "", test))
    return red


def _build_injection(changed: tuple[str, ...], seconds: float) -> check_command.SandboxInjection:
    """Return the plugin with its limits, under a name that is drawn anew. Blocks while it is read."""
    room = files("orchestrator.judge.repeats")
    source = room.joinpath("pytest_plugin.py").read_text() + room.joinpath("reaching_tests.py").read_text()
    plugin = f"p{secrets.token_hex(5)}"
    values = f"CHANGED = {changed!r}\nROUNDS = {ROUNDS!r}\nSECONDS = {seconds!r}\n"
    return check_command.SandboxInjection(_LOADING_SCRIPT, f"{plugin}\n{source}\n\n{values}", {plugin: "plugin"})
