"""`orchestrate doctor`."""

from typing import Unpack

import anyio
import click

from orchestrator.cli import arguments
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import exit_with, print_alarm, print_lines, print_object
from orchestrator.doctor.checks import check_requirements
from orchestrator.doctor.document import DoctorDocument, RequirementCheck
from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.project.options import Options


@click.command("doctor")
@arguments.repository_options
@arguments.gate_option
@arguments.target_option
@arguments.add_model_option("planner, worker, judge, worker.VARIANT or judge.LENS.")
@arguments.add_budget_option("The budget that a run is to get, or unlimited.")
@arguments.read_only_option
@click.option("--ci", "in_ci", is_flag=True, help="Also check what a CI job needs, as far as it can be seen here.")
@click.option("--run-gate", "runs_gate", is_flag=True, help="Run the gate to its end on the base.")
@arguments.config_options
@arguments.json_option
def doctor_command(in_ci: bool, runs_gate: bool, **given: Unpack[arguments.VerbArguments]) -> None:
    """Check what a run needs: git, repository, disk, sandbox (a real escape self-test), gate, budget, models.

    Give it the options that you give `run`. It takes about a second, and up to three more for trying the gate's
    command on the base. It exits with 7 if something has to be mended first.

    \b
    orchestrate doctor
    orchestrate doctor --gate "python3 -m pytest -q" --run-gate
    orchestrate doctor --ci
    orchestrate doctor --repo ../click --read-only ~/tools --set roles.worker.model=openai/gpt-5-mini
    """
    findings = anyio.run(_collect_findings, build_options(given), in_ci, runs_gate, given["as_json"])
    is_ok = all(finding.is_ok or finding.is_warning for finding in findings)
    if given["as_json"]:
        print_object(DoctorDocument(ok=is_ok, findings=tuple(map(_build_row, findings))).as_object())
    exit_with(0 if is_ok else 7)


def _build_row(found: DoctorFinding) -> RequirementCheck:
    is_warning = found.is_warning and not found.is_ok
    return RequirementCheck(name=found.name, ok=found.is_ok, warning=is_warning, detail=found.detail)


async def _collect_findings(options: Options, in_ci: bool, runs_gate: bool, is_silent: bool) -> list[DoctorFinding]:
    findings = []
    async for finding in check_requirements(options, in_ci=in_ci, runs_gate=runs_gate):
        findings.append(finding)
        if not is_silent:
            _print_finding(finding)
    return findings


def _print_finding(finding: DoctorFinding) -> None:
    if finding.is_ok:
        mark = "ok"
    elif finding.is_warning:
        mark = "warn"
    else:
        mark = "FAIL"
    text = f"{mark:4}  {finding.name:18} {finding.detail}"
    if finding.detail == UNSAFE_BANNER:
        print_alarm(text, err=False)
    else:
        print_lines([text])
