"""`orchestrate doctor`."""

from typing import Unpack

import anyio
import click

from orchestrator.cli.arguments import VerbArguments, config_options, json_option, read_only_option, repository_options
from orchestrator.cli.documents import DoctorDocument, RequirementCheck
from orchestrator.cli.flags import build_options
from orchestrator.cli.output import exit_with, print_alarm, print_lines, print_object
from orchestrator.doctor.checks import DoctorFinding, check_requirements
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.project.options import Options


@click.command("doctor")
@repository_options
@read_only_option
@click.option("--ci", "in_ci", is_flag=True, help="And what a job of a CI system needs, as far as it can be seen here.")
@config_options
@json_option
def doctor_command(in_ci: bool, **given: Unpack[VerbArguments]) -> None:
    """Check what a run needs: git, repository, disk, sandbox (a real escape self-test), gate, models.

    Leaves with 7 if something has to be mended first.

    \b
    orchestrate doctor
    orchestrate doctor --ci
    orchestrate doctor --repo ../click --read-only ~/tools --set roles.worker.model=openai/gpt-5-mini
    """
    findings = anyio.run(_collect_findings, build_options(given), in_ci, given["as_json"])
    is_ok = all(finding.is_ok or finding.is_warning for finding in findings)
    if given["as_json"]:
        print_object(DoctorDocument(ok=is_ok, findings=tuple(map(_build_row, findings))).as_object())
    exit_with(0 if is_ok else 7)


def _build_row(found: DoctorFinding) -> RequirementCheck:
    is_warning = found.is_warning and not found.is_ok
    return RequirementCheck(name=found.name, ok=found.is_ok, warning=is_warning, detail=found.detail)


async def _collect_findings(options: Options, in_ci: bool, is_silent: bool) -> list[DoctorFinding]:
    findings = []
    async for finding in check_requirements(options, in_ci=in_ci):
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
