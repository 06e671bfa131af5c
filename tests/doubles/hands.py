"""Hands whose commands do what a test says: each run of a check on a commit is the next of those laid down for it."""

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import anyio

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.purpose import Purpose
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand
from tests.doubles.workspace import InMemoryWorkspace

Outcomes = Mapping[str, TestOutcome]
Run = Outcomes | int | CommandEnding
"""What a run does: report these tests, exit with this code and report none, or end like this."""


class LaidDownHands:
    """`runs` counts the commands of each commit; with one left, it is what every further run does."""

    refusal_reason = None
    environment_hash = "environment"
    slots = 4
    policy_summary: Mapping[str, str] = {}

    def __init__(self, laid_down: Mapping[str, list[Run]]) -> None:
        self._laid_down = {commit: list(runs) for commit, runs in laid_down.items()}
        self.runs: dict[str, int] = defaultdict(int)
        self.lines: list[str] = []
        self.purposes: list[Purpose] = []

    async def open_workspace(self, commit: CommitId, purpose: Purpose) -> "_Workspace":
        self.purposes.append(purpose)
        return _Workspace(self, commit)

    def run(self, commit: str, command: ShellCommand) -> CommandResult:
        self.runs[commit] += 1
        self.lines.append(command.line)
        laid_down = self._laid_down[commit]
        return _result(laid_down.pop(0) if len(laid_down) > 1 else laid_down[0])


class _Workspace(InMemoryWorkspace):
    def __init__(self, hands: LaidDownHands, commit: str) -> None:
        super().__init__()
        self._hands, self._commit = hands, commit
        self._result: CommandResult | None = None

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        result = self._hands.run(self._commit, command)
        files = dict(zip(command.files, result.files.values(), strict=False))
        self._result = result.model_copy(update={"files": files})

    async def wait_for_result(self, call_id: str, timeout_s: float = 10.0) -> CommandResult | None:
        await anyio.lowlevel.checkpoint()
        return self._result


def _result(run: Run) -> CommandResult:
    log = Path(os.devnull)
    if isinstance(run, CommandEnding):
        detail = "it has no legs" if run == CommandEnding.NOT_STARTED else ""
        return CommandResult(ending=run, exit_code=None, seconds=1, log=log, output_bytes=0, detail=detail)
    if isinstance(run, int):
        return CommandResult(ending=CommandEnding.EXITED, exit_code=run, seconds=1, log=log, output_bytes=0)
    code = int(any(outcome.is_red for outcome in run.values()))
    files = {"ORCHESTRATE_REPORT": _junit(run)}
    return CommandResult(ending=CommandEnding.EXITED, exit_code=code, seconds=1, log=log, output_bytes=0, files=files)


_INSIDE = {TestOutcome.FAILED: "<failure/>", TestOutcome.ERROR: "<error/>", TestOutcome.SKIPPED: "<skipped/>"}


def _junit(outcomes: Outcomes) -> bytes:
    cases = [f'<testcase name="{test}">{_INSIDE.get(how, "")}</testcase>' for test, how in outcomes.items()]
    return f"<testsuite>{''.join(cases)}</testsuite>".encode()
