"""One job of a CI system from its beginning to its end, and what it tells."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any, NoReturn

import anyio

from orchestrator.app.ci import Job, Wish, claim, leave, let_go, take_up
from orchestrator.app.ci_keeper import Keeper
from orchestrator.app.options import Options
from orchestrator.app.place import Place, is_due
from orchestrator.app.telling import tell
from orchestrator.ci.outputs import JobEnd, job_end, write_outputs, write_summary
from orchestrator.ci.shelf import Superseded
from orchestrator.cli.attach import Detached, work_on
from orchestrator.cli.finding import is_live
from orchestrator.cli.output import print_object, say, told
from orchestrator.cli.reading import TolerantBlobs, opened
from orchestrator.domain.command import Stop
from orchestrator.domain.state import RunState
from orchestrator.errors import OrchestrateError, Terminated
from orchestrator.journal.states import read_state
from orchestrator.report.ci_summary import MOST_BYTES, step_summary
from orchestrator.report.run_report import report_of
from orchestrator.report.summary import summary
from worktrees.errors import GitError

_TRIES_S = (0.0, 5.0, 20.0)
_STOPPING_S = 60.0
_OURS = (OrchestrateError, GitError, OSError)


def carry_job(options: Options, wish: Wish, every_s: float, as_json: bool) -> int:
    """Do what one job does: take the key, carry the run on, leave its state, tell the CI system; gives the exit code.

    Raises:
        OrchestrateError: it could not begin. The CI system has been told.
    """
    try:
        with _stopped_by_sigterm():
            job = anyio.run(claim, options, wish)
            place, state = _taken_up(job)
        with _noting_signals() as came:
            failed, lost = _worked(job, place, state, every_s, came)
            end = _left(job, place, failed, lost)
    except BaseException as error:
        problem = told(error) if isinstance(error, _OURS) else None
        code = problem.exit_code if problem else 1
        _tell(JobEnd("not-started", code, key=wish.key, reason=str(problem or error)), as_json)
        raise
    _tell(end, as_json)
    return end.exit


def _taken_up(job: Job) -> tuple[Place, RunState]:
    """The run, here; if that fails, the key is free again."""
    try:
        place, state = anyio.run(take_up, job)
    except BaseException:
        with suppress(*_OURS):
            anyio.run(let_go, job)
        raise
    say(f"key {job.ticket.key}: job {job.ticket.hop} of at most {job.ticket.max_hops} on run {place.directory.run}")
    return place, state


def _worked(
    job: Job, place: Place, state: RunState, every_s: float, came: Sequence[int]
) -> tuple[OrchestrateError | None, Superseded | None]:
    """Have an engine work on the run; what went wrong with it, and whether the key was lost meanwhile."""
    failed: OrchestrateError | None = None
    with Keeper(job, place, every_s, say) as keeper:
        try:
            if came:
                raise Terminated("stopped before an engine was started")
            if is_due(place, state):
                work_on(place, outlives_us=False)
        except Detached:
            _stop(place)
        except OrchestrateError as error:
            failed = error
    return failed, keeper.lost


def _stop(place: Place) -> None:
    """No engine outlives its job."""
    tell(place.directory, Stop(how="terminate"), by="the end of the job")
    until = time.monotonic() + _STOPPING_S
    while is_live(place.directory) and time.monotonic() < until:
        time.sleep(0.1)


def _left(job: Job, place: Place, failed: OrchestrateError | None, lost: Superseded | None) -> JobEnd:
    """How it ended, once the state is where the next job looks for it."""
    state = read_state(place.directory.journal)
    end = job_end(state, place.directory.journal, job.ticket, job.until_s)
    if failed is not None:
        end = replace(end, exit=failed.exit_code, is_resumable=False, reason=str(failed))
    text = _summary(job, place, state)
    problem = lost or _problem_of_leaving(job, place, end, text)
    if problem is not None:
        end = replace(end, exit=problem.exit_code, is_resumable=False, reason=str(problem))
    say("")
    for line in summary(state, ""):
        say(line)
    if failed or problem or end.exit != (state.ended or state.paused or end).exit:
        say(f"error: {end.reason}")
    write_summary(os.environ, text)
    return end


def _problem_of_leaving(job: Job, place: Place, end: JobEnd, text: str) -> OrchestrateError | None:
    """Leave the state for the last time; what kept it from that."""
    problem: OrchestrateError | None = None
    for pause_s in _TRIES_S:
        time.sleep(pause_s)
        try:
            anyio.run(leave, job, place, end, text)
        except Superseded as lost:
            return lost
        except _OURS as error:
            problem = told(error)
            if problem is None:
                raise
            say(f"warning: the state could not be left for the next job: {problem}")
        else:
            return None
    return problem


def _summary(job: Job, place: Place, state: RunState) -> str:
    """The run as Markdown, with which job of how many this was."""
    ticket = job.ticket
    head = f"Job {ticket.hop} of at most {ticket.max_hops} with the key `{ticket.key}`.\n\n"
    with opened(place.directory) as store:
        report = report_of(state, place.directory.journal, store.of_kinds, TolerantBlobs(place.directory).get)
    return head + step_summary(report, MOST_BYTES - len(head.encode()))


def _tell(end: JobEnd, as_json: bool) -> None:
    write_outputs(os.environ, end.outputs())
    if as_json:
        print_object(end.as_object())


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """A SIGTERM ends what is being done; while an engine works, the one who follows it takes it instead.

    Raises:
        Terminated: one came.
    """

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated("stopped by SIGTERM")

    with _on_signals(stop, signal.SIGTERM):
        yield


@contextmanager
def _noting_signals() -> Iterator[Sequence[int]]:
    """Signals only tell that they came: leaving the state takes a moment, and whoever ends a job says so twice.

    While an engine works, the one who follows it takes them instead.
    """
    came: list[int] = []
    with _on_signals(lambda number, _frame: came.append(number), signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        yield came


@contextmanager
def _on_signals(act: Callable[[int, FrameType | None], Any], *numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.signal(number, act) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
