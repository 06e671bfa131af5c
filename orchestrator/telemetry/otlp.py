"""Sends spans and metrics by OTLP over HTTP. The only module that imports OpenTelemetry: the extra `otel`."""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult
from opentelemetry.sdk.metrics.view import ExplicitBucketHistogramAggregation, View
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from orchestrator import __version__
from orchestrator.domain.traces.trace_ids import build_span_id, build_trace_id
from orchestrator.telemetry.measurement import COUNTERS, HISTOGRAM_BOUNDS, HISTOGRAM_UNITS, Measurement
from orchestrator.telemetry.span import FinishedSpan

_SERVICE = "orchestrate"
_SCOPE = InstrumentationScope(_SERVICE, __version__)
_TIMEOUT_S = 10.0
_MICROSECONDS, _NANOSECONDS = 1_000_000, 1_000


class OtlpCollector:
    """A collector that takes the spans and metrics of one run.

    Without an `endpoint` the variables `OTEL_EXPORTER_OTLP_…` name it, and without `headers` those. What sends
    blocks, for ten seconds at most.
    """

    def __init__(self, run: str, endpoint: str, headers: Mapping[str, str]) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # whoever sends tells what could not be sent
        self._run = run
        self._trace = int(build_trace_id(run), 16)
        self._resource = _build_resource(run)
        sent = dict(headers) or None
        base = endpoint.rstrip("/")
        traces, metrics = (f"{base}/v1/traces", f"{base}/v1/metrics") if base else (None, None)
        self._span_exporter = OTLPSpanExporter(traces, headers=sent, timeout=_TIMEOUT_S)
        self._metric_exporter = OTLPMetricExporter(metrics, headers=sent, timeout=_TIMEOUT_S)
        self._reader = InMemoryMetricReader()
        views = []
        for name, bounds in HISTOGRAM_BOUNDS.items():
            views.append(View(instrument_name=name, aggregation=ExplicitBucketHistogramAggregation(boundaries=bounds)))
        provider = MeterProvider((self._reader,), self._resource, views=views, shutdown_on_exit=False)
        meter = provider.get_meter(_SERVICE, __version__)
        self._counters = {name: meter.create_counter(name, unit) for name, unit in COUNTERS.items()}
        self._histograms = {name: meter.create_histogram(name, unit) for name, unit in HISTOGRAM_UNITS.items()}

    def send_spans(self, spans: Sequence[FinishedSpan]) -> bool:
        """Send spans; return False if the collector did not take them."""
        return self._span_exporter.export(list(map(self._convert_span, spans))) == SpanExportResult.SUCCESS

    def add_measurements(self, measured: Sequence[Measurement]) -> None:
        """Add values to the metrics."""
        for one in measured:
            if one.name in self._counters:
                self._counters[one.name].add(one.value, one.attributes)
            else:
                self._histograms[one.name].record(one.value, one.attributes)

    def send_metrics(self) -> bool:
        """Send how the metrics stand; return False if the collector did not take them."""
        data = self._reader.get_metrics_data()
        return data is None or self._metric_exporter.export(data) == MetricExportResult.SUCCESS

    def _convert_span(self, span: FinishedSpan) -> ReadableSpan:
        return ReadableSpan(
            name=span.title,
            context=self._build_context(span.key),
            parent=self._build_context(span.parent) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes,
            kind=SpanKind.CLIENT if span.is_client else SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR, span.error) if span.error else Status(),
            start_time=_count_nanoseconds(span.start),
            end_time=_count_nanoseconds(span.end),
            instrumentation_scope=_SCOPE,
        )

    def _build_context(self, key: str) -> SpanContext:
        span = int(build_span_id(self._run, key), 16)
        return SpanContext(self._trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _build_resource(run: str) -> Resource:
    """Return what all spans come from; the variables of OpenTelemetry win over our own name.

    Each run is an instance of the service: counters of two runs at a time must not pass for one that jumps.
    Other detectors of resources are not looked for: that takes longer than everything else at the start.
    """
    own = Resource({"service.name": _SERVICE, "service.version": __version__, "service.instance.id": run})
    return own.merge(OTELResourceDetector().detect())


def _count_nanoseconds(at: datetime) -> int:
    return round(at.timestamp() * _MICROSECONDS) * _NANOSECONDS
