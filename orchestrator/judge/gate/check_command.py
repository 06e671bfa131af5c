"""The command of a check as the shell of the sandbox gets it, and what its result says. Knows no ledger."""

from collections.abc import Mapping
from dataclasses import dataclass

from orchestrator.domain.judging.check import CheckSpec, ReceiptStatus
from orchestrator.domain.judging.run_trace import GuardReport, RunTrace
from orchestrator.judge.gate.runner_options import build_runner_options
from orchestrator.judge.reports import ParsedReport, parse_report
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand

REPORT_VARIABLE = "ORCHESTRATE_REPORT"
"""The variable that holds where a check is to write its report."""
GUARD_VARIABLE = "ORCHESTRATE_GUARD"
"""The variable that holds where the guards of its test runners write theirs."""

_STATUS = {CommandEnding.EXITED: ReceiptStatus.COMPLETED, CommandEnding.LIMIT: ReceiptStatus.KILLED}
"""The statuses that are not called as the command's end is."""
_EXPLAINED = frozenset({CommandEnding.LIMIT, CommandEnding.NOT_STARTED})
"""Endings of which the sandbox itself says why."""


@dataclass(frozen=True)
class SandboxInjection:
    """Lines of shell before the command, and what they read; `names` maps what was drawn to how it is recorded.

    The lines are always the same, so that two runs differ in nothing that is kept.
    """

    before: str
    stdin: str
    names: Mapping[str, str]

    def hide_drawn_names(self, text: str) -> str:
        """Return a text as it is recorded, without anything that was drawn."""
        for drawn, name in self.names.items():
            text = text.replace(drawn, name)
        return text


NO_INJECTION = SandboxInjection("", "", {})


def build_check_command(spec: CheckSpec, output_bytes: int, injection: SandboxInjection = NO_INJECTION) -> ShellCommand:
    """Return the check's command, which is told where to write its report."""
    line = spec.run.replace("{report}", f'"${REPORT_VARIABLE}"')
    if line == spec.run:
        line = build_runner_options(spec, REPORT_VARIABLE) + line
    files = {REPORT_VARIABLE: "report.xml"}
    if injection.before:
        files[GUARD_VARIABLE] = "guard.txt"
    return ShellCommand(
        line=injection.before + line,
        stdin=injection.stdin,
        timeout_s=spec.timeout_s,
        output_bytes=output_bytes,
        files=files,
        is_watched=True,
    )


def read_check_report(spec: CheckSpec, result: CommandResult) -> ParsedReport:
    """Return the outcomes of the check's tests, and what is wrong with them or ended the command. Blocks."""
    if result.ending in _EXPLAINED:
        return ParsedReport(problem=result.detail)
    if result.ending != CommandEnding.EXITED:
        return ParsedReport()
    return parse_report(spec.report, result.log, result.files.get(REPORT_VARIABLE), result.exit_code)


def build_run_trace(result: CommandResult, guards: tuple[GuardReport, ...] = (), unguarded: str = "") -> RunTrace:
    """Return the record of what a check's run did beside its outcomes."""
    return RunTrace(opened=result.opened, written=result.written, guards=guards, unguarded=unguarded)


def get_receipt_status(result: CommandResult) -> ReceiptStatus:
    """Return how a receipt calls the end of a command."""
    return _STATUS.get(result.ending) or ReceiptStatus(result.ending)
