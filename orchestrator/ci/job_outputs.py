"""The outputs of a job for its CI system: how it ended, for the steps after it, and as an exit code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from orchestrator.ci.lease import LeaseRecord
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.money import UNKNOWN_COST
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import EnvironmentProblem
from orchestrator.ports.forge import OpenedPullRequest
from orchestrator.report.read_model import Document
from orchestrator.report.run.contract import build_contract
from orchestrator.report.run.model import PullRequestLink, RunResult
from orchestrator.report.run.result import build_run_result
from worktrees.durable_files import append_durably

_NO_RESULT = 4
_LIMIT = 5
_CLOCK_S = 1.0
_OUTPUT_CHARS = 100_000


class JobResultFields(Document):
    """The fields of the end of a job; `result` is what `run --json` gives, None where no run came about."""

    status: str
    exit: int
    reason: str
    key: str
    hop: int
    max_hops: int
    is_resumable: bool = Field(alias="resumable")
    prs: tuple[str, ...]
    result: RunResult | None


class JobResultDocument(JobResultFields, schema="orchestrate.ci-result/1"):
    """The output of `ci run`."""


class PublishedDocument(JobResultFields, schema="orchestrate.published/1"):
    """The output of `ci publish`: the end of the first job, and where its pull requests are now."""

    pull_requests: tuple[OpenedPullRequest, ...]


@dataclass(frozen=True)
class JobResult:
    """The end of a job: `status` is the run's outcome, or `paused`, or `not-started`.

    `is_resumable` says that another job would get further now: it was this job's time that ran out, and not the money,
    a provider or a person's patience, and there may be one job more.
    """

    status: str
    exit: int
    key: str = ""
    hop: int = 0
    max_hops: int = 0
    is_resumable: bool = False
    reason: str = ""
    result: RunResult | None = None

    @property
    def prs(self) -> list[str]:
        """Where the run's pull requests stand: their URLs, or refs where they have none."""
        if self.result is None:
            return []
        found: list[PullRequestLink] = list(self.result.prs)
        if self.result.pr:
            found.append(self.result.pr)
        return list(dict.fromkeys(pr.url or pr.ref for pr in found))

    @property
    def cost_usd(self) -> float | None:
        """The run's cost so far, of all its jobs together; None if part of it is unknown."""
        return self.result.spent.usd if self.result else 0.0

    @property
    def cost_output(self) -> str:
        """The cost in dollars for a step that reads it; `unknown` if part of it is."""
        return UNKNOWN_COST if self.cost_usd is None else f"{self.cost_usd:.4f}"

    def build_outputs(self) -> dict[str, str]:
        """Return what the workflow's other steps can read."""
        return {
            "status": self.status,
            "run_id": self.result.run if self.result else "",
            "key": self.key,
            "prs": json.dumps(self.prs),
            "cost_usd": self.cost_output,
            "resumable": str(self.is_resumable).lower(),
            "hop": str(self.hop),
            "exit": str(self.exit),
        }

    def build_document(self) -> JobResultDocument:
        """Return the object for --json."""
        return JobResultDocument.model_validate(self, from_attributes=True)


def build_job_result(state: RunState, journal: Path, ticket: LeaseRecord, until_s: float | None) -> JobResult:
    """Return how the job ended that left a run in this state.

    Args:
        state: the run.
        journal: where its journal lies.
        ticket: the key's.
        until_s: after how many seconds of work in all this job was to stop, None for no limit.
    """
    result = build_run_result(state, journal)
    code, reason = result.exit, result.reason
    if code == 0 and not has_result(state):
        code, reason = _NO_RESULT, f"there is no pull request, nor evidence that nothing had to change: {reason}"
    return JobResult(
        status=result.outcome if state.ended else "paused",
        exit=1 if code is None else code,
        key=ticket.key,
        hop=ticket.hop,
        max_hops=ticket.max_hops,
        is_resumable=code == _LIMIT and is_out_of_time(state, until_s) and ticket.has_hops_left,
        reason=reason,
        result=result,
    )


def has_result(state: RunState) -> bool:
    """Return True if there is a pull request to show; or, if nothing landed, a contract that holds all the same."""
    if state.pr or state.migration.prs:
        return True
    contract = build_contract(state)
    return not state.landings and bool(contract) and all(criterion.met for criterion in contract)


def is_out_of_time(state: RunState, until_s: float | None) -> bool:
    """Return True if a run was stopped because the job's time was over."""
    return until_s is not None and state.ended is None and state.wall_s >= until_s - _CLOCK_S


def write_outputs(environ: Mapping[str, str], outputs: Mapping[str, str]) -> None:
    """Add outputs to the step's, where the CI system takes any (`GITHUB_OUTPUT`).

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    lines = "".join(f"{name}={to_one_line(value, _OUTPUT_CHARS)}\n" for name, value in outputs.items())
    _append(environ.get("GITHUB_OUTPUT", ""), lines)


def write_summary(environ: Mapping[str, str], text: str) -> None:
    """Add Markdown to the page of the job, where the CI system has one (`GITHUB_STEP_SUMMARY`).

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    _append(environ.get("GITHUB_STEP_SUMMARY", ""), text)


def _append(path: str, text: str) -> None:
    if not path:
        return
    try:
        append_durably(Path(path), text.encode("utf-8", "replace"))
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}") from error
