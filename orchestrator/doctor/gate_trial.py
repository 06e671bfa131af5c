"""Start the gate's command on the base, in the sandbox, and judge what came out as a run judges its base."""

import hashlib
from contextlib import ExitStack

from anyio import to_thread

from orchestrator.doctor.finding import DoctorFinding
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.judging.check import CheckSpec, Receipt, ReceiptStatus, TestCounts
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.blob_text import Text
from orchestrator.errors import OrchestrateError
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.project.options import ProjectContext, build_grant

TRIAL_S = 3.0
"""Time limit of a trial of the gate, in seconds: enough to see that its programs are there."""
_NO_GATE = 'no gate command: `run` needs --gate "COMMAND" or command under [gate]; migrations bring their own'
_WHOLE = "orchestrate doctor --run-gate"


async def try_gate(project: ProjectContext, hands: LocalHands, *, is_whole: bool) -> list[DoctorFinding]:
    """Return what starting the gate on the base has shown; with `is_whole` after its end, else after a few seconds.

    Dependencies under [env] are installed only with `is_whole`: that may take minutes.
    """
    checks = project.config.gate.build_checks()
    if not checks:
        return [DoctorFinding("gate", False, _NO_GATE, is_warning=True)]
    spec = checks[0]
    if hands.refusal_reason:
        text = f"`{spec.run}` was not tried, since no command runs here"
        return [DoctorFinding("gate", False, text, is_warning=True)]
    try:
        if not project.config.env.deps:
            return await _run_gate(project, hands, spec, is_whole=is_whole)
        if is_whole:
            return await _install_and_run_gate(project, spec)
    except OrchestrateError as error:
        return [DoctorFinding("gate", False, str(error))]
    text = f"`{spec.run}` was not tried, since deps under [env] are installed first; {_WHOLE} does both"
    return [DoctorFinding("gate", True, text)]


async def _install_and_run_gate(project: ProjectContext, spec: CheckSpec) -> list[DoctorFinding]:
    from orchestrator.provisioning.dependencies import DEPS_DIRECTORY, install_dependencies  # few projects have deps

    async def ignore_progress(_text: str) -> None:
        """Ignore what is being installed: the findings tell the result."""

    repository, state, config = project.repository, project.state.path, project.config
    base = CommitId(repository.read_head_commit())
    with ExitStack() as stack:
        store = state / DEPS_DIRECTORY
        grant, deps = build_grant(config), config.env.deps
        grant = await install_dependencies(grant, deps, repository, state, store, base, ignore_progress, stack)
        async with open_local_hands(repository, state, grant) as hands:
            return await _run_gate(project, hands, spec, is_whole=True)


async def _run_gate(
    project: ProjectContext, hands: LocalHands, spec: CheckSpec, *, is_whole: bool
) -> list[DoctorFinding]:
    limited = spec.model_copy(update={"timeout_s": spec.timeout_s if is_whole else min(TRIAL_S, spec.timeout_s)})
    receipt = await _make_receipt(project, hands, limited)
    if receipt.status == ReceiptStatus.TIMED_OUT and limited.timeout_s < spec.timeout_s:
        text = f"`{spec.run}` starts on the base, and was stopped after {TRIAL_S:g} s; {_WHOLE} waits for its end"
        return [DoctorFinding("gate", True, text)]
    return _judge_receipt(spec, receipt)


async def _make_receipt(project: ProjectContext, hands: LocalHands, spec: CheckSpec) -> Receipt:
    """Run the gate in a workspace of the commit that is checked out; nothing is recorded."""
    from orchestrator.judge.gate.check_command import build_check_command, get_receipt_status, read_check_report

    base = CommitId(project.repository.read_head_commit())
    workspace = await hands.open_workspace(base, Purpose("doctor"))
    try:
        command = build_check_command(spec, project.config.hands.output_mb * 1024 * 1024)
        result, output = await run_and_read(workspace, command)
    finally:
        await workspace.close()
    report = await to_thread.run_sync(read_check_report, spec, result)
    has_tests = report.outcomes is not None
    return Receipt(
        key="doctor",
        check=spec.id,
        command=spec.run,
        tree=TreeId(base),
        environment=hands.environment_hash,
        status=get_receipt_status(result),
        exit_code=result.exit_code,
        seconds=result.seconds,
        counts=TestCounts.count_outcomes((report.outcomes or {}).values()),
        tests=hashlib.sha256(output.encode()).hexdigest() if has_tests else None,
        problem=report.problem,
        output=Text.build_inline(output),
    )


def _judge_receipt(spec: CheckSpec, receipt: Receipt) -> list[DoctorFinding]:
    from orchestrator.judge.gate.baseline import find_baseline_problem, list_baseline_doubts
    from orchestrator.judge.reports.telling_line import find_telling_line

    if receipt.status == ReceiptStatus.NOT_STARTED:
        return [DoctorFinding("gate", False, f"`{spec.run}` could not be started: {receipt.problem}")]
    line = find_telling_line(receipt.output.head)
    cause = f" ({line})" if line else ""
    if problem := find_baseline_problem(spec, receipt, is_migration=False):
        return [DoctorFinding("gate", False, problem + cause)]
    if doubts := list(list_baseline_doubts(receipt, receipt.output.head)):
        return [DoctorFinding("gate", False, doubt + cause, is_warning=True) for doubt in doubts]
    text = f"`{spec.run}` on the base: {receipt.outcome_text}, after {receipt.seconds:.1f} s"
    return [DoctorFinding("gate", True, text)]
