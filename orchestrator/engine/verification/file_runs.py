"""Runs of all that a verifier wrote: its files of tests by the project's runner, its scripts one by one."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.verifier_tests import VerifierFile, VerifierFileKind
from orchestrator.domain.purpose import Purpose
from orchestrator.engine.context import RunContext
from orchestrator.engine.verification.script_runs import VerifierScriptRunner
from orchestrator.engine.verification.test_runs import VerifierTestRunner
from orchestrator.judge.gate.verifier_outcomes import FileOutcomes


class VerifierFileRunner:
    """Runs a verifier's files on commits and tells the outcomes of each."""

    def __init__(self, context: RunContext) -> None:
        self._tests = VerifierTestRunner(context)
        self._scripts = VerifierScriptRunner(context)

    async def run_files(
        self, commit: CommitId, files: Sequence[VerifierFile], purpose: Purpose
    ) -> Mapping[str, FileOutcomes]:
        """Return the outcomes of each file on a commit by its path.

        Raises:
            EnvironmentProblem: a check could not be started.
        """
        tests, scripts = _divide_files(files)
        runs = dict(await self._tests.run_files(commit, tests, purpose))
        runs.update(await self._scripts.run_scripts(commit, scripts, purpose))
        return runs

    async def run_on_candidate(
        self, commit: CommitId, base: CommitId, files: Sequence[VerifierFile], purpose: Purpose, look: int = 0
    ) -> Mapping[str, FileOutcomes]:
        """Return the outcomes of each file on a candidate by its path; `look` counts the runs from 0.

        Raises:
            EnvironmentProblem: a check could not be started.
        """
        tests, scripts = _divide_files(files)
        runs = dict(await self._tests.run_on_candidate(commit, base, tests, purpose, look))
        runs.update(await self._scripts.run_on_candidate(commit, base, scripts, purpose, look))
        return runs


def _divide_files(files: Sequence[VerifierFile]) -> tuple[list[VerifierFile], list[VerifierFile]]:
    """Return the files of tests, and the scripts."""
    tests: list[VerifierFile] = []
    scripts: list[VerifierFile] = []
    for file in files:
        if file.kind == VerifierFileKind.SCRIPT:
            scripts.append(file)
        else:
            tests.append(file)
    return tests, scripts
