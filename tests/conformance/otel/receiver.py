"""An OTLP receiver over HTTP, on OpenTelemetry's own protobufs: keeps what arrives."""

import http.server
import threading
from dataclasses import dataclass, field

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as traces

SIGNALS = {
    "/v1/traces": (traces.ExportTraceServiceRequest, traces.ExportTraceServiceResponse),
    "/v1/metrics": (metrics.ExportMetricsServiceRequest, metrics.ExportMetricsServiceResponse),
}


@dataclass
class Arrived:
    """What arrived: requests as they were decoded, their bytes and their headers, and what was wrong with them."""

    requests: list = field(default_factory=list)
    bodies: list = field(default_factory=list)
    headers: list = field(default_factory=list)
    problems: list = field(default_factory=list)

    def spans(self):
        """Each span with its resource and its scope."""
        for request in self.requests:
            for resource in getattr(request, "resource_spans", ()):
                for scope in resource.scope_spans:
                    yield from ((span, resource.resource, scope.scope) for span in scope.spans)

    def metrics(self):
        """Each metric with its resource."""
        for request in self.requests:
            for resource in getattr(request, "resource_metrics", ()):
                for scope in resource.scope_metrics:
                    yield from ((metric, resource.resource) for metric in scope.metrics)


def receiver(status: int = 200):
    """A server on a free port, and what arrives at it. With another status it refuses everything."""
    arrived = Arrived()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path not in SIGNALS or self.headers["content-type"] != "application/x-protobuf":
                arrived.problems.append(f"a request to {self.path} of type {self.headers['content-type']}")
                return self.send_error(404)
            request, response = SIGNALS[self.path]
            arrived.requests.append(request.FromString(body))
            arrived.bodies.append(body)
            arrived.headers.append(dict(self.headers))
            answer = response().SerializeToString()
            self.send_response(status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, arrived


def plain(value):
    """A value of an attribute as Python has it."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


def attributes(pairs) -> dict:
    found = {pair.key: plain(pair.value) for pair in pairs}
    assert len(found) == len(pairs), "an attribute twice"
    return found
