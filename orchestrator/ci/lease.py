"""A key's ticket: which run the jobs of that key carry on, how many of them have, and which one does now."""

import secrets
import socket
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

from pydantic import Field, field_validator

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import LimitReached, RunLocked, UsageProblem

MAX_HOPS = 20
_KEY = compile_lazily(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,99}")
_NAME_CHARS = 200


class Lease(FrozenModel):
    """A job that works on the run, until another one may take it over because nothing was heard of it."""

    token: str
    holder: str
    until: datetime


class LeaseRecord(FrozenModel):
    """The record of a key that is kept beside the run's state.

    `hop` counts the jobs that have begun to work on the run; `events` is how far the state that lies beside it is.
    """

    format: Literal["orchestrate.ci/1"] = "orchestrate.ci/1"
    key: str
    run: RunId | None = Field(default=None, pattern=r"^[0-9]{8}-[0-9]{6}-[0-9a-f]{4,32}$")
    hop: int = Field(default=0, ge=0)
    max_hops: int = Field(default=MAX_HOPS, ge=1)
    events: int = Field(default=0, ge=0)
    is_ended: bool = False
    lease: Lease | None = None

    @field_validator("key")
    @classmethod
    def _is_part_of_a_ref(cls, key: str) -> str:
        if _KEY.fullmatch(key) is None:
            raise ValueError(f"{key!r} is no key")
        return key

    @property
    def has_hops_left(self) -> bool:
        """True if another job may work on the run."""
        return self.hop < self.max_hops

    def release_lease(self) -> "LeaseRecord":
        """Return the same with nobody at work."""
        return self.model_copy(update={"lease": None})

    def renew_lease(self, now: datetime, stale_s: float) -> "LeaseRecord":
        """Return the same with a lease that holds for so long from now on."""
        assert self.lease is not None
        lease = self.lease.model_copy(update={"until": now + timedelta(seconds=stale_s)})
        return self.model_copy(update={"lease": lease})

    def update_run(self, run: RunId, events: int, *, is_ended: bool) -> "LeaseRecord":
        """Return the same once so much of the run's state lies beside it."""
        return self.model_copy(update={"run": run, "events": events, "is_ended": is_ended})


def check_key(key: str) -> str:
    """Return the key, if it can be part of a ref's name.

    Raises:
        UsageProblem: it cannot.
    """
    if _KEY.fullmatch(key) is None:
        raise UsageProblem(
            f"{key!r} is no key: letters, digits, '-', '_' and single dots, at most 100 of them, such as issue-12"
        )
    return key


def create_lease(holder: str, now: datetime, stale_s: float) -> Lease:
    """Return a lease of a job's own."""
    return Lease(token=secrets.token_hex(8), holder=holder, until=now + timedelta(seconds=stale_s))


def claim_lease(ticket: LeaseRecord, lease: Lease, now: datetime, max_hops: int | None = None) -> LeaseRecord:
    """Return the ticket once a job has begun.

    Args:
        ticket: as it was found.
        lease: the job's own.
        now: the time.
        max_hops: how many jobs there may be in all, if that is to change.

    Raises:
        RunLocked: another job works on the run.
        LimitReached: as many jobs as may have worked on it.
    """
    other = ticket.lease
    if other is not None and other.until > now:
        raise RunLocked(
            f"key {ticket.key} is being worked on by {to_one_line(other.holder, _NAME_CHARS)}; if that job is dead, "
            f"another may take over after {other.until:%Y-%m-%d %H:%M:%S %Z}"
        )
    most = max_hops or ticket.max_hops
    if ticket.hop >= most and not ticket.is_ended:
        raise LimitReached(
            f"key {ticket.key} has had its {most} jobs and run {ticket.run} is not at its end: see why "
            f"(orchestrate run import --ref {ticket.run}), and allow more with --max-hops, or begin anew with --restart"
        )
    return ticket.model_copy(update={"hop": ticket.hop + 1, "max_hops": most, "lease": lease})


def get_job_name(environ: Mapping[str, str]) -> str:
    """Return what a CI system calls this job, as far as it tells; else the machine."""
    if "GITHUB_RUN_ID" in environ:
        place = f"{environ.get('GITHUB_SERVER_URL', '')}/{environ.get('GITHUB_REPOSITORY', '')}"
        return f"{place}/actions/runs/{environ['GITHUB_RUN_ID']}/attempts/{environ.get('GITHUB_RUN_ATTEMPT', '1')}"
    return environ.get("CI_JOB_URL") or f"a job on {socket.gethostname()}"
