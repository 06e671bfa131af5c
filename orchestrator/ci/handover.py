"""The handover from a job that may only read to one that may write: a directory with the run and what to know of it."""

import secrets
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from orchestrator.ci.lease import LeaseRecord
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.validation_problems import describe_first_problem
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.ports.forge import PullRequest

ARCHIVE_FILE, HANDOVER_FILE, SUMMARY_FILE = "run.tar.gz", "handover.json", "summary.md"


class RequestedPullRequest(FrozenModel):
    """A pull request that a run asks a forge for; `group` says which of several it is."""

    group: str = ""
    request: PullRequest


class Handover(FrozenModel):
    """The content of `handover.json`, beside the run's archive.

    `ticket` is what the next job is to find, `tips` the refs of the state as this job saw them: they may be moved only
    if they are still that. `exit` is None while the job works, `cost_usd` if part of the cost is unknown.
    """

    format: Literal["orchestrate.handover/1"] = "orchestrate.handover/1"
    ticket: LeaseRecord
    tips: dict[str, str | None]
    status: str = "running"
    exit: int | None = Field(default=None, ge=0, le=255)
    reason: str = ""
    resumable: bool = False
    cost_usd: float | None = 0.0
    pull_requests: tuple[RequestedPullRequest, ...] = ()


def write_handover(directory: Path, handover: Handover, summary: str = "") -> None:
    """Write what to know of the run; the archive is there already. Each file is replaced as a whole. Blocks.

    Raises:
        EnvironmentProblem: the directory cannot be written.
    """
    files = {HANDOVER_FILE: handover.model_dump_json(indent=1)} | ({SUMMARY_FILE: summary} if summary else {})
    try:
        for name, text in files.items():
            draft = directory / f".{name}.{secrets.token_hex(4)}"
            draft.write_text(text, encoding="utf-8", errors="replace")
            draft.replace(directory / name)
    except OSError as error:
        raise EnvironmentProblem(f"{directory} cannot be written: {error.strerror}") from error


def read_handover(directory: Path) -> Handover:
    """Return what the job before wrote. Blocks.

    Raises:
        UsageProblem: there is nothing of the kind, or it is damaged.
    """
    file = directory / HANDOVER_FILE
    try:
        return Handover.model_validate_json(file.read_bytes())
    except OSError as error:
        advice = "name a directory that `orchestrate ci run --handover` wrote"
        raise UsageProblem(f"{file}: {error.strerror}: {advice}") from error
    except ValidationError as error:
        problem = describe_first_problem(error, HANDOVER_FILE)
        raise UsageProblem(f"{file} is none that this version of orchestrate understands ({problem})") from error
