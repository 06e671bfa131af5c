"""A collector on this machine that takes traces and metrics by OTLP, as the package's own messages read them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


def read_value(value: Any) -> Any:
    """The Python value of an attribute."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [read_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def read_attributes(attributes: Any) -> dict[str, Any]:
    """Attributes as a dictionary."""
    return {one.key: read_value(one.value) for one in attributes}


@dataclass
class Collector:
    """What a collector was sent; `status` is its answer, and `delay_s` how long it takes."""

    endpoint: str = ""
    status: int = 200
    delay_s: float = 0.0
    spans: list[Span] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def by_id(self) -> dict[bytes, Span]:
        """The latest span under each id."""
        return {span.span_id: span for span in self.spans}

    def named(self, start: str) -> list[Span]:
        """The spans whose names begin so, once each, in order of their ends."""
        return sorted(
            (one for one in self.by_id().values() if one.name.startswith(start)), key=lambda one: one.end_time_unix_nano
        )

    def parent(self, span: Span) -> str:
        """The name of the span around one; empty for the first."""
        return self.by_id()[span.parent_span_id].name if span.parent_span_id else ""

    def take(self, path: str, body: bytes) -> None:
        """Keep what was sent."""
        self.bodies.append(body)
        if path.endswith("/v1/traces"):
            for group in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(read_attributes(group.resource.attributes))
                for scope in group.scope_spans:
                    self.spans += scope.spans
        elif path.endswith("/v1/metrics"):
            for grouped in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                self.resources.append(read_attributes(grouped.resource.attributes))
                for scoped in grouped.scope_metrics:
                    self.metrics += scoped.metrics
        else:
            raise AssertionError(f"nothing is sent to {path}")


@contextmanager
def collecting(status: int = 200, delay_s: float = 0.0) -> Iterator[Collector]:
    """A collector that listens on a free port."""
    collector = Collector(status=status, delay_s=delay_s)
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if collector.delay_s:
                over.wait(collector.delay_s)
            if collector.status == 200:
                collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                collector.take(self.path, body)
            self.send_response(collector.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is no error."""

    server = Server(("127.0.0.1", 0), Handler)
    collector.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def wait_until(happened: Any, within_s: float = 10.0) -> None:
    """Wait for something; fail if it does not happen."""
    ends_at = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < ends_at
        time.sleep(0.02)
