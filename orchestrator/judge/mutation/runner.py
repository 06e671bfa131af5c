"""Mutant runs: the tests that reach a changed file, on that file with one place altered at a time.

A mutant that no test notices decides nothing. It shows reviewers a place of the change that the tests say nothing of.
"""

import secrets
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from anyio import to_thread

from orchestrator.domain.judging.check import MUTANTS_CHECK, PASSED_OUTCOMES, CheckSpec, Receipt, ReportFormat
from orchestrator.judge.gate import check_command, check_runner
from orchestrator.judge.gate.check_runner import CheckedTree, CheckRunner
from orchestrator.judge.gate.flakiness import list_runs, read_known_outcomes
from orchestrator.judge.mutation.mutant import Mutant
from orchestrator.judge.repeats.runner import has_pytest, measure_time_limit
from orchestrator.ports.ledger import Ledger

LEAST_SECONDS = 2.0
"""For so long mutants are begun even beside a short gate."""
_STARTING_SECONDS = 30.0
_LOADING_SCRIPT = """\
read -r plugin && folder="${FILE%/*}/$plugin" && mkdir "$folder" && cat >"$folder/$plugin.py"; exec </dev/null
printf '%s\\n%s' "$PWD" "$FILE" >"$folder/places.txt"
export PYTHONPATH="$folder${PYTHONPATH:+:$PYTHONPATH}"
export PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -p $plugin"
unset plugin folder
""".replace("FILE", check_command.REPORT_VARIABLE)


class MutantReport(NamedTuple):
    """The mutants that no test noticed, and the receipts of their runs."""

    survivors: tuple[Mutant, ...] = ()
    receipts: tuple[Receipt, ...] = ()


class MutantRunner:
    """Mutant runs of a check whose runner is pytest; any other runner has none."""

    def __init__(self, runner: CheckRunner, ledger: Ledger, check: CheckSpec) -> None:
        self._runner = runner
        self._ledger = ledger
        self._gate = check

    async def find_survivors(self, tree: CheckedTree, mutants: Sequence[Mutant]) -> MutantReport:
        """Return the mutants of a tree that no test notices, by the run that it had already, or by a new one.

        Raises:
            EnvironmentProblem: no workspace or sandbox could be had.
        """
        if not mutants or not await has_pytest(self._ledger, self._gate):
            return MutantReport()
        limit = measure_time_limit(self._ledger, self._gate, LEAST_SECONDS)
        spec = self._gate.model_copy(
            update={"id": MUTANTS_CHECK, "report": ReportFormat.JUNIT, "timeout_s": limit + _STARTING_SECONDS}
        )
        key = check_runner.build_check_key(spec)
        runs = list_runs(self._ledger.state, key, tree.tree, self._runner.environment)
        if not runs:
            injection = await to_thread.run_sync(_build_injection, tuple(mutants), limit)
            runs = [await self._runner.run_unguarded(spec, tree, injection, narrows=None)]
        unnoticed = set[str]()
        for outcomes in await read_known_outcomes(self._ledger, runs):
            unnoticed |= {test for test, outcome in outcomes.items() if outcome in PASSED_OUTCOMES}
        survivors = tuple(mutant for mutant in mutants if f"mutants::{mutant.description}" in unnoticed)
        return MutantReport(survivors, tuple(runs))


def _build_injection(mutants: tuple[Mutant, ...], seconds: float) -> check_command.SandboxInjection:
    """Return the plugin with its mutants, under a name that is drawn anew. Blocks while it is read."""
    source = files("orchestrator.judge.mutation").joinpath("pytest_plugin.py").read_text()
    source += files("orchestrator.judge.repeats").joinpath("reaching_tests.py").read_text()
    rows = []
    for mutant in mutants:
        edit = mutant.edit
        rows.append((mutant.description, mutant.path, edit.offset, edit.removed, edit.inserted))
    plugin = f"p{secrets.token_hex(5)}"
    values = f"MUTANTS = {tuple(rows)!r}\nSECONDS = {seconds!r}\nrun_mutants()\n"
    return check_command.SandboxInjection(_LOADING_SCRIPT, f"{plugin}\n{source}\n\n{values}", {plugin: "plugin"})
