"""Checks of level step: commands on one file, right after a step, in the workspace where it was changed."""

import shlex
from collections.abc import Sequence

from anyio import to_thread

from orchestrator.domain.judging.check import CheckSpec, Outcomes
from orchestrator.hands.execution.log_reader import read_log_ends
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.judge.gate.injection import REPORT_VARIABLE
from orchestrator.judge.reports import parse_report
from orchestrator.judge.reports.failure_signature import build_failure_signature, extract_failure_excerpt
from orchestrator.migrate.judging.file_change import RuleViolation
from orchestrator.migrate.recipe import Recipe
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand, Workspace


class StepChecks:
    """The recipe's checks of level step. Falsy where it has none."""

    def __init__(self, recipe: Recipe) -> None:
        self._checks: Sequence[CheckSpec] = recipe.build_checks("step")

    def __bool__(self) -> bool:
        return bool(self._checks)

    async def find_violation(
        self, workspace: Workspace, path: str, before: bytes, after: bytes
    ) -> RuleViolation | None:
        """What a changed file loses against what it was; None if it loses nothing.

        The workspace holds `after` at `path`, and does so again at the end. Only where a check is red the same is asked
        of `before`: a file is not blamed for what was so already.

        Raises:
            EnvironmentProblem: this host has no sandbox to run commands in.
        """
        for spec in self._checks:
            now = await _run(workspace, spec, path)
            if now.is_green:
                continue
            await workspace.write_file(path, before)
            try:
                then = await _run(workspace, spec, path)
            finally:
                await workspace.write_file(path, after)
            if found := _lost(spec, then, now):
                return found
        return None


class _Ran:
    """What a check said of a file."""

    def __init__(self, result: CommandResult, outcomes: Outcomes | None, output: str) -> None:
        self.result = result
        self.outcomes = outcomes
        self.output = output

    @property
    def is_green(self) -> bool:
        """Whether it exited with 0 and told of nothing red."""
        return self.result.is_success and not any(outcome.is_red for outcome in (self.outcomes or {}).values())


async def _run(workspace: Workspace, spec: CheckSpec, path: str) -> _Ran:
    name = shlex.quote(f"./{path}" if path.startswith("-") else path)
    line = spec.run.replace("{files}", name).replace("{report}", f'"${REPORT_VARIABLE}"')
    command = ShellCommand(line=line, timeout_s=spec.timeout_s, files={REPORT_VARIABLE: "report.xml"})
    result = await run_command(workspace, command)
    output = await to_thread.run_sync(read_log_ends, result.log)
    if result.ending != CommandEnding.EXITED:
        return _Ran(result, None, output)
    report = await to_thread.run_sync(
        parse_report, spec.report, result.log, result.files.get(REPORT_VARIABLE), result.exit_code
    )
    return _Ran(result, report.outcomes, output)


def _lost(spec: CheckSpec, then: _Ran, now: _Ran) -> RuleViolation | None:
    if then.outcomes is None and not then.is_green:
        return None  # it was red before, and does not tell of what
    difference = compare_outcomes(then.outcomes, then.result.exit_code, now.outcomes, now.result.exit_code)
    if difference.is_green:
        return None
    lost = (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped)
    if now.result.exit_code is not None:
        how = f"exits with {now.result.exit_code}"
    else:
        how = f"was ended: {now.result.ending}"
    if lost:
        why = f"loses {', '.join(lost[:3])}"
    else:
        why = how
    excerpt = extract_failure_excerpt(now.output, lost)
    if excerpt:
        last = excerpt.splitlines()[-1].strip()
    else:
        last = ""
    reason = f"check {spec.id} {why}" + (f": {last[:200]}" if last else "")
    return RuleViolation(reason, build_failure_signature(excerpt) or f"check {spec.id} {how}")
