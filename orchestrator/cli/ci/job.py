"""Run one job of a CI system from its beginning to its end, and print its result."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import NoReturn

import anyio

from orchestrator.ci.job_outputs import JobResult, build_job_result, write_outputs, write_summary
from orchestrator.ci.remote_state import StateSuperseded
from orchestrator.ci_jobs.job import CiJob, JobRequest, claim_key, release_key, save_run_state, start_or_resume_run
from orchestrator.ci_jobs.state_saver import StateSaver
from orchestrator.cli.engine_follower import Detached, follow_engine
from orchestrator.cli.journal_reader import TolerantBlobs, open_run_journal
from orchestrator.cli.output import convert_to_user_error, print_message, print_object
from orchestrator.cli.run_lookup import has_live_engine
from orchestrator.cli.signal_handlers import handle_signals
from orchestrator.domain.commands.definitions import Stop
from orchestrator.domain.run.state import RunState
from orchestrator.errors import OrchestrateError, Terminated
from orchestrator.journal.state.derivation import read_state
from orchestrator.project.options import Options
from orchestrator.report.documents.ci_summary import MOST_BYTES, render_step_summary
from orchestrator.report.documents.run_report import collect_run_report
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.run_control.control import RunLocation, needs_engine, send_command
from worktrees.errors import GitError

_TRIES_S = (0.0, 5.0, 20.0)
_STOPPING_S = 60.0
_HANDLED_ERRORS = (OrchestrateError, GitError, OSError)


def run_ci_job(options: Options, request: JobRequest, every_s: float, as_json: bool) -> int:
    """Take the key, carry the run on, save its state, tell the CI system; return the exit code.

    Raises:
        OrchestrateError: it could not begin. The CI system has been told.
    """
    try:
        with _raise_on_sigterm():
            job = anyio.run(claim_key, options, request)
            location, state = _take_run(job)
        with _record_signals() as signals:
            engine_error, superseded = _follow_run(job, location, state, every_s, signals)
            end = _finish_job(job, location, engine_error, superseded)
    except BaseException as error:
        problem = convert_to_user_error(error) if isinstance(error, _HANDLED_ERRORS) else None
        code = problem.exit_code if problem else 1
        _report_result(JobResult("not-started", code, key=request.key, reason=str(problem or error)), as_json)
        raise
    _report_result(end, as_json)
    return end.exit


def _free_key(job: CiJob) -> None:
    with suppress(*_HANDLED_ERRORS):
        anyio.run(release_key, job)


def _take_run(job: CiJob) -> tuple[RunLocation, RunState]:
    """Begin the run or import it; if that fails, free the key again."""
    with ExitStack() as failing:
        failing.callback(_free_key, job)
        location, state = anyio.run(start_or_resume_run, job)
        failing.pop_all()
    print_message(
        f"key {job.lease.key}: job {job.lease.hop} of at most {job.lease.max_hops} on run {location.directory.run}"
    )
    return location, state


def _follow_run(
    job: CiJob, location: RunLocation, state: RunState, every_s: float, signals: Sequence[int]
) -> tuple[OrchestrateError | None, StateSuperseded | None]:
    """Have an engine work on the run; return its error, and the loss of the key if another job took it meanwhile."""
    problem: OrchestrateError | None = None
    with StateSaver(job, location, every_s, print_message) as saver:
        try:
            if signals:
                raise Terminated("stopped before an engine was started")
            if needs_engine(location, state):
                follow_engine(location, outlives_us=False)
        except Detached:
            _stop_engine(location)
        except OrchestrateError as error:
            problem = error
    return problem, saver.superseded


def _stop_engine(location: RunLocation) -> None:
    """Stop the engine, and wait for it: no engine outlives its job."""
    send_command(location.directory, Stop(how="terminate"), by="the end of the job")
    until = time.monotonic() + _STOPPING_S
    while has_live_engine(location.directory) and time.monotonic() < until:
        time.sleep(0.1)


def _finish_job(
    job: CiJob, location: RunLocation, error: OrchestrateError | None, superseded: StateSuperseded | None
) -> JobResult:
    """Save the state for the next job, and return how this job ended."""
    state = read_state(location.directory.journal)
    end = build_job_result(state, location.directory.journal, job.lease, job.until_s)
    if error is not None:
        end = replace(end, exit=error.exit_code, is_resumable=False, reason=str(error))
    text = _render_summary(job, location, state)
    problem = superseded or _save_final_state(job, location, end, text)
    if problem is not None:
        end = replace(end, exit=problem.exit_code, is_resumable=False, reason=str(problem))
    print_message("")
    for line in render_summary_lines(state, ""):
        print_message(line)
    if error or problem or end.exit != (state.ended or state.paused or end).exit:
        print_message(f"error: {end.reason}")
    write_summary(os.environ, text)
    return end


def _save_final_state(job: CiJob, location: RunLocation, end: JobResult, text: str) -> OrchestrateError | None:
    """Save the state for the last time, in several tries; return the error if none succeeded."""
    problem: OrchestrateError | None = None
    for pause_s in _TRIES_S:
        time.sleep(pause_s)
        try:
            anyio.run(save_run_state, job, location, end, text)
        except StateSuperseded as superseded:
            return superseded
        except _HANDLED_ERRORS as error:
            problem = convert_to_user_error(error)
            if problem is None:
                raise
            print_message(f"warning: the state could not be left for the next job: {problem}")
        else:
            return None
    return problem


def _render_summary(job: CiJob, location: RunLocation, state: RunState) -> str:
    """Return the run as Markdown, with the number of this job."""
    lease = job.lease
    head = f"Job {lease.hop} of at most {lease.max_hops} with the key `{lease.key}`.\n\n"
    with open_run_journal(location.directory) as store:
        report = collect_run_report(
            state, location.directory.journal, store.read_kinds, TolerantBlobs(location.directory).get
        )
    return head + render_step_summary(report, MOST_BYTES - len(head.encode()))


def _report_result(end: JobResult, as_json: bool) -> None:
    write_outputs(os.environ, end.build_outputs())
    if as_json:
        print_object(end.build_document().as_object())


@contextmanager
def _raise_on_sigterm() -> Iterator[None]:
    """Turn a SIGTERM into an exception; while an engine works, its follower takes the signal instead.

    Raises:
        Terminated: one came.
    """

    def raise_terminated(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated("stopped by SIGTERM")

    with handle_signals({signal.SIGTERM: raise_terminated}):
        yield


@contextmanager
def _record_signals() -> Iterator[Sequence[int]]:
    """Record signals without acting on them: saving the state takes a moment, and CI systems send them twice.

    While an engine works, the one who follows it takes them instead.
    """
    signals: list[int] = []

    def record_signal(number: int, _frame: FrameType | None) -> None:
        signals.append(number)

    with handle_signals(dict.fromkeys((signal.SIGTERM, signal.SIGINT, signal.SIGHUP), record_signal)):
        yield signals
