"""The traces of a run that is open: whether they are sent, and what sends them."""

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import CancelScope, to_thread

from orchestrator.config.model import Config
from orchestrator.config.sections.telemetry import TelemetrySettings
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import Noticed, RunPaused
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.domain.traces.trace_ids import is_trace_sampled
from orchestrator.errors import OrchestrateError, UsageProblem
from orchestrator.journal.journal import Journal
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.ports.ledger import record_notice_once

if TYPE_CHECKING:
    from orchestrator.telemetry.otlp import OtlpCollector
    from orchestrator.telemetry.sender import TelemetrySender
    from orchestrator.telemetry.span import FinishedSpan

EXPORT_BATCH = 500
"""The spans of one request."""
_PACKAGES = ("opentelemetry", "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


def require_telemetry_extra(settings: TelemetrySettings, environ: Mapping[str, str] = os.environ) -> None:
    """Make sure that what is to send traces is installed, and the values of its headers are set.

    Raises:
        UsageProblem: they are not.
    """
    if not settings.enabled:
        return
    if not _has_packages():
        raise UsageProblem(
            "traces are to be sent, but what sends them is not installed: pip install 'orchestrate-goals[otel]', or "
            "set enabled = false under [telemetry]"
        )
    for header, variable in settings.headers.items():
        if not environ.get(variable):
            raise UsageProblem(
                f"the header {header} of [telemetry] is to have the value of {variable}, which is not set: export it"
            )


def _has_packages() -> bool:
    try:
        return all(find_spec(name) for name in _PACKAGES)
    except ModuleNotFoundError:
        return False


def choose_hook_trace(settings: TelemetrySettings) -> float | None:
    """Return the share of runs whose traces hooks are told to go on with; None where none are sent."""
    return settings.sample if settings.enabled else None


@asynccontextmanager
async def run_telemetry(journal: Journal, config: Config, *, is_sending: bool) -> AsyncIterator[None]:
    """Send the run's traces while the block lasts, if its user wants that and this process `is_sending`.

    Raises:
        UsageProblem: what sends them is not installed; that is recorded as the reason for the stop.
    """
    settings = config.telemetry
    if not settings.enabled or not is_sending:
        yield
        return
    try:
        require_telemetry_extra(settings)
    except UsageProblem as problem:
        await journal.append(RunPaused(reason=str(problem), exit=problem.exit_code))
        raise
    sender = _build_sender(journal, settings)
    journal.listeners.append(sender.queue_event)
    sender.start_thread()
    try:
        yield
    finally:
        journal.listeners.remove(sender.queue_event)
        with CancelScope(shield=True), suppress(OrchestrateError):  # why the run stops is more than what was not sent
            await to_thread.run_sync(sender.close, settings.flush_s)
            if sender.unsent_spans or sender.problem:
                await _record_unsent_spans(journal, settings, sender)


def _build_sender(journal: Journal, settings: TelemetrySettings) -> "TelemetrySender":
    from orchestrator.telemetry.sender import SentMark, TelemetrySender  # few runs are traced

    run = journal.state.run.run
    return TelemetrySender(
        partial(open_collector, run, settings),
        partial(_read_journal, journal.directory / "journal.db"),
        SentMark(journal.directory),
        has_content=settings.content,
        sends_spans=is_trace_sampled(run, settings.sample),
        sends_metrics=settings.metrics,
    )


def open_collector(run: str, settings: TelemetrySettings) -> "OtlpCollector":
    """Open the collector of a run's traces; loads the packages of the extra."""
    from orchestrator.telemetry.otlp import OtlpCollector

    headers = {}
    for header, variable in settings.headers.items():
        headers[header] = os.environ.get(variable, "")
    return OtlpCollector(run, settings.endpoint, headers)


def collect_spans(journal: Path, *, has_content: bool) -> "list[FinishedSpan]":
    """Return the spans of a run that have ended, each as it ended last."""
    from orchestrator.telemetry.span_builder import SpanBuilder

    builder, spans = SpanBuilder(has_content=has_content), {}
    for recorded in _read_journal(journal, 0):
        for span in builder.add_event(recorded):
            spans[span.key] = span
    return list(spans.values())


def export_spans(run: str, spans: "Sequence[FinishedSpan]", settings: TelemetrySettings) -> bool:
    """Send spans; return False if the collector did not take all of them. Blocks."""
    collector = open_collector(run, settings)
    for start in range(0, len(spans), EXPORT_BATCH):
        if not collector.send_spans(spans[start : start + EXPORT_BATCH]):
            return False
    return True


def _read_journal(path: Path, after: int) -> Iterator[RecordedEvent]:
    with EventReader.open_reader(path) as reader:
        yield from reader.read_events(after)


async def _record_unsent_spans(journal: Journal, settings: TelemetrySettings, sender: "TelemetrySender") -> None:
    where = settings.endpoint or "the collector that the environment names"
    what = f"at least {sender.unsent_spans:,} spans of the run could not be sent to {where}"
    if sender.problem:
        what = f"sending spans of the run to {where} failed ({to_one_line(sender.problem)})"
    text = f"{what}, and nothing else is missing: orchestrate traces --export sends them again"
    notice = Noticed(level="warning", code=NoticeCode.TELEMETRY_UNSENT, subject=settings.endpoint, text=text)
    await record_notice_once(journal, notice)
