"""`orchestrate traces`."""

from collections.abc import Iterator, Mapping, Sequence

import click
from pydantic import ValidationError

from orchestrator.app.telemetry import collect_spans, export_spans, require_telemetry_extra
from orchestrator.cli.documents import SpanRow, TracesDocument
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import pass_run_directory
from orchestrator.cli.terminal.choices import add_display_options
from orchestrator.config.layers import load_config
from orchestrator.config.sections.telemetry import TelemetrySettings
from orchestrator.domain.traces.trace_ids import build_span_id, build_trace_id
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.telemetry.span import FinishedSpan


@click.command("traces")
@click.option("--export", "is_export", is_flag=True, help="Send all of them to the collector of [telemetry].")
@click.option(
    "--endpoint", metavar="URL", default="", help="With --export: send them there, without the headers of [telemetry]."
)
@add_display_options
@pass_run_directory
def traces_command(directory: RunDirectory, is_export: bool, endpoint: str, as_json: bool) -> None:
    """Show the spans of RUN (the latest run by default) that have ended, or send them again.

    A span that is sent twice is the same span, so it does no harm to send a run again.

    \b
    orchestrate traces
    orchestrate traces 7f3a --export
    orchestrate traces 7f3a --export --endpoint http://localhost:4318
    """
    if endpoint and not is_export:
        raise UsageProblem("--endpoint says where spans are sent to, and none are: give --export as well")
    settings = _choose_collector(load_config(None, {}).config.telemetry, endpoint)
    if is_export and not settings.enabled:
        raise UsageProblem("no collector is named: set enabled = true under [telemetry], or give --endpoint URL")
    spans = collect_spans(directory.journal, has_content=settings.content)
    if is_export:
        require_telemetry_extra(settings)
        if not export_spans(directory.run, spans, settings):
            where = settings.endpoint or "the endpoint that the environment names"
            raise EnvironmentProblem(
                f"the collector did not take the spans: see that it runs and takes OTLP over HTTP at {where}"
            )
    document = TracesDocument(
        run=directory.run,
        trace_id=build_trace_id(directory.run),
        is_sent=is_export,
        spans=tuple(_build_row(directory.run, span) for span in spans),
    )
    print_document(document, _render_lines(document), as_json)


def _choose_collector(settings: TelemetrySettings, endpoint: str) -> TelemetrySettings:
    """Return the settings for an endpoint that was given; what the headers hold is meant for the configured one only.

    Raises:
        UsageProblem: it is no address.
    """
    if not endpoint:
        return settings
    given = {"enabled": True, "endpoint": endpoint}
    if endpoint != settings.endpoint:
        given["headers"] = {}
    try:
        return TelemetrySettings.model_validate(settings.model_dump() | given)
    except ValidationError as error:
        raise UsageProblem(
            f"--endpoint {endpoint} is no address of a collector: give one such as http://localhost:4318"
        ) from error


def _build_row(run: str, span: FinishedSpan) -> SpanRow:
    parent = None
    if span.parent is not None:
        parent = build_span_id(run, span.parent)
    return SpanRow(
        span_id=build_span_id(run, span.key),
        parent_id=parent,
        name=span.title,
        started=span.start.isoformat(),
        seconds=(span.end - span.start).total_seconds(),
        error=span.error,
    )


def _render_lines(document: TracesDocument) -> Iterator[str]:
    """Yield the spans as a tree, each below the one around it, those without one first."""
    known = {row.span_id for row in document.spans}
    below: dict[str | None, list[SpanRow]] = {}
    for row in sorted(document.spans, key=lambda row: row.started):
        place = row.parent_id
        if place not in known:
            place = None
        below.setdefault(place, []).append(row)
    sent = " were sent" if document.is_sent else ""
    yield f"trace {document.trace_id}: {len(document.spans):,} spans{sent}"
    yield from _render_below(below, None, "  ")


def _render_below(below: Mapping[str | None, Sequence[SpanRow]], parent: str | None, indent: str) -> Iterator[str]:
    for row in below.get(parent, ()):
        error = ""
        if row.error:
            error = f"  {row.error}"
        yield f"{indent}{row.name}  {row.seconds:.1f} s{error}"
        yield from _render_below(below, row.span_id, indent + "  ")
