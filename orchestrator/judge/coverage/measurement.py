"""Measuring which lines of Python files run while a check does, by coverage.py, which is lent to the sandbox.

It never decides anything: the run is one of its own beside the gate, without a receipt.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import CheckSpec
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.text.encoding import decode_json
from orchestrator.hands.execution.lost_hosts import repeat_on_lost_host
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.judge.gate.check_command import REPORT_VARIABLE
from orchestrator.ports.hands import CommandEnding, CommandResult, Hands, ShellCommand

_RESULT = "ORCHESTRATE_LINES"
_PACKAGE = "ORCHESTRATE_COVERAGE"
_START = Path(__file__).with_name("startup_script.py")
_SET_UP = f"""\
export ORCHESTRATE_COVERED="${{{_RESULT}%/*}}/covered" ORCHESTRATE_COVERED_ROOT="$PWD"
mkdir "$ORCHESTRATE_COVERED" && ln -s "${_PACKAGE}" "$ORCHESTRATE_COVERED/coverage" || exit 125
cat >"$ORCHESTRATE_COVERED/sitecustomize.py"; exec </dev/null
export PYTHONPATH="$ORCHESTRATE_COVERED${{PYTHONPATH:+:$PYTHONPATH}}"
(
"""
_TEAR_DOWN = f"""
)
python3 -S "$ORCHESTRATE_COVERED/sitecustomize.py" >"${_RESULT}"
"""


def find_coverage_package() -> Path:
    """Return the directory of coverage.py on this host, which the hands of a covered run have to be lent.

    Raises:
        LookupError: it is not installed.
    """
    spec = importlib.util.find_spec("coverage")
    if spec is None or spec.origin is None:
        raise LookupError("coverage.py is not installed")
    return Path(spec.origin).resolve().parent


async def measure_lines_run(
    hands: Hands, spec: CheckSpec, commit: CommitId, paths: Sequence[str], output_bytes: int
) -> Mapping[str, frozenset[int]] | str:
    """Return the lines of these files that run while the check does, by path; or why that cannot be told.

    Args:
        hands: see the directory of `package`.
        spec: the check.
        commit: what it runs on.
        paths: of Python files.
        output_bytes: how much the check may print.

    Raises:
        EnvironmentProblem: no workspace or sandbox could be had.
    """
    command, purpose = await to_thread.run_sync(_build_command, spec, paths, output_bytes), f"coverage of {spec.id}"
    result = await repeat_on_lost_host(partial(_run_in_workspace, hands, commit, Purpose(purpose), command))
    if result.ending != CommandEnding.EXITED:
        return f"the check `{spec.id}` did not end by itself while its lines were counted ({result.ending})"
    return _read_result(result.files.get(_RESULT, b""))


async def _run_in_workspace(hands: Hands, commit: CommitId, purpose: Purpose, command: ShellCommand) -> CommandResult:
    workspace = await hands.open_workspace(commit, purpose)
    try:
        return await run_command(workspace, command)
    finally:
        await workspace.close()


def _build_command(spec: CheckSpec, paths: Sequence[str], output_bytes: int) -> ShellCommand:
    text = f"{_START.read_text(encoding='utf-8')}\n\nPATHS = {list(paths)!r}\nmain()\n"
    return ShellCommand(
        line=_SET_UP + spec.run.replace("{report}", f'"${REPORT_VARIABLE}"') + _TEAR_DOWN,
        stdin=text,
        env={_PACKAGE: str(find_coverage_package())},
        timeout_s=2 * spec.timeout_s,
        output_bytes=output_bytes,
        files={REPORT_VARIABLE: "report.xml", _RESULT: "lines.json"},
    )


def _read_result(text: bytes) -> Mapping[str, frozenset[int]] | str:
    """Read what the sandbox said, which may be anything."""
    try:
        said = decode_json(text)
        lines = {str(path): frozenset(map(int, numbers)) for path, numbers in said["lines"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return "no Python in the sandbox could gather which lines ran"
    if said.get("started"):
        return lines
    return "the check started no Python that coverage.py can watch"
