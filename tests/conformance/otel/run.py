"""Holds what we send over OTLP to OpenTelemetry's own protobufs: ids, parents, names, attributes, metrics.

    cargo build --example otel --features otel
    python tests/conformance/otel/run.py

Needs `pip install opentelemetry-proto`. The example prints the ids that it exported to others; what arrives here has to
have them. Exits with 1 and names each difference.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from expected import CANARY, CONTENT, METRICS, PRICED, SPANS, USED, WHOSE  # noqa: E402
from receiver import attributes, receiver  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[2] / "target"))
EXAMPLE = TARGET / "debug" / "examples" / "otel"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
REMOTE_KNOWN, REMOTE = 0x100, 0x200
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Findings:
    """What is wrong, and how much was looked at."""

    def __init__(self):
        self.looked, self.wrong = 0, []

    def same(self, what: str, found, expected) -> None:
        self.looked += 1
        if found != expected:
            self.wrong.append(f"{what}: {found!r} instead of {expected!r}")


def run(status: int = 200, arguments: tuple = (), **environment: str):
    """Runs the example against a receiver. What it printed, and what arrived."""
    server, arrived = receiver(status)
    unset = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "TRACE", "BAGGAGE"))}
    told = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=of the receiver",
        "OTEL_SERVICE_NAME": "conformance",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.namespace=tools",
    }
    done = subprocess.run([EXAMPLE, *arguments], env=unset | told | environment, capture_output=True, timeout=120)
    server.shutdown()
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    return done, {line["span"]: line["context"] for line in printed}, arrived


def check_tree(printed: dict, arrived, findings: Findings) -> dict:
    """The spans by name: ids as they were exported, each under its parent, and one trace."""
    spans = {span.name: span for span, _, _ in arrived.spans()}
    findings.same("the spans that arrived", sorted(span.name for span, _, _ in arrived.spans()), sorted(SPANS))
    findings.same("the reported spans", sorted(printed), sorted(SPANS))
    for name in SPANS.keys() & spans.keys() & printed.keys():
        span, parent = spans[name], SPANS[name][0]
        findings.same(f"{name}: trace id", span.trace_id.hex(), printed[name]["trace_id"])
        findings.same(f"{name}: trace", span.trace_id, spans["invoke_agent planner"].trace_id)
        findings.same(f"{name}: span id", span.span_id.hex(), printed[name]["span_id"])
        findings.same(f"{name}: parent", span.parent_span_id.hex(), printed[parent]["span_id"] if parent else "")
        remote = REMOTE if name == "invoke_agent stock" else 0
        findings.same(f"{name}: flags", span.flags, 1 | REMOTE_KNOWN | remote)
        check_times(name, span, spans.get(parent), findings)
    return spans


def check_times(name: str, span, parent, findings: Findings) -> None:
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    findings.same(f"{name}: begins before it ends", 0 < start <= end, True)
    if parent:
        within = parent.start_time_unix_nano <= start and end <= parent.end_time_unix_nano
        findings.same(f"{name}: within its parent", within, True)


def check_spans(spans: dict, content: bool, findings: Findings) -> None:
    for name in SPANS.keys() & spans.keys():
        span, (_, kind, error, expected) = spans[name], SPANS[name]
        findings.same(f"{name}: kind", span.kind, kind)
        status = (2, error[1]) if error else (0, "")
        findings.same(f"{name}: status", (span.status.code, span.status.message), status)
        found = attributes(span.attributes)
        if name in PRICED:
            cost = found.pop("tool_core.cost.usd", None)
            findings.same(f"{name}: cost", cost is None or 0 < cost < 1, True)
        if name in CONTENT:
            kept = tuple(found.pop(f"gen_ai.tool.call.{part}", None) for part in ("arguments", "result"))
            kept = tuple(text and json.loads(text) for text in kept)
            findings.same(f"{name}: content", kept, CONTENT[name] if content else (None, None))
        failed = {"error.type": error[0]} if error else {}
        findings.same(f"{name}: attributes", found, expected | failed | WHOSE)


def check_sender(arrived, findings: Findings) -> None:
    """Who says that it has sent this."""
    findings.same("requests", arrived.problems, [])
    for headers in arrived.headers:
        findings.same("a header of the environment", headers.get("x-key"), "of the receiver")
    expected = {"service.name": "conformance", "deployment.environment.name": "test", "service.namespace": "tools"}
    resources = [resource for _, resource, _ in arrived.spans()] + [resource for _, resource in arrived.metrics()]
    for resource in resources:
        found = attributes(resource.attributes)
        findings.same("the resource", {key: found.get(key) for key in expected}, expected)
        findings.same("the SDK", found.get("telemetry.sdk.language"), "rust")
    for _, _, scope in arrived.spans():
        findings.same("the scope", (scope.name, bool(scope.version)), ("tool-core", True))


def check_metrics(spans: dict, arrived, findings: Findings) -> None:
    # The other process sends its own, with other figures in it: it has neither tools nor questions.
    found = {metric.name: metric for metric, _ in arrived.metrics()}
    findings.same("metrics", sorted(found), sorted(METRICS))
    for name in METRICS.keys() & found.keys():
        metric, (unit, bounds, series) = found[name], METRICS[name]
        points = metric.histogram.data_points
        findings.same(f"{name}: unit", metric.unit, unit)
        findings.same(f"{name}: temporality", metric.histogram.aggregation_temporality, 2)
        findings.same(f"{name}: series", len(points), series)
        for point in points:
            close = len(point.explicit_bounds) == len(bounds) and all(map(math.isclose, point.explicit_bounds, bounds))
            findings.same(f"{name}: buckets", close, True)
            findings.same(f"{name}: counts", (len(point.bucket_counts), sum(point.bucket_counts)), (15, point.count))
            check_point(name, point, spans, findings)


def check_point(name: str, point, spans: dict, findings: Findings) -> None:
    """A series against the span that it counts."""
    found = attributes(point.attributes)
    if name == "gen_ai.client.token.usage":
        model, direction = found["gen_ai.request.model"], found.pop("gen_ai.token.type")
        findings.same(f"{name}: {model} {direction}", point.sum, USED[model, direction])
        span = spans[f"chat {model}"]
    else:
        tool = found.get("gen_ai.tool.name")
        span = spans[f"execute_tool {tool}" if tool else f"chat {found['gen_ai.request.model']}"]
        seconds = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
        findings.same(f"{name}: {span.name}", math.isclose(point.sum, seconds, abs_tol=1e-9), True)
    findings.same(f"{name}: {span.name}: count", point.count, 1)
    of_span = attributes(span.attributes)
    findings.same(f"{name}: {span.name}: attributes", found, {key: of_span.get(key) for key in found})
    required = {"gen_ai.tool.name"} if "gen_ai.tool.name" in of_span else {"gen_ai.operation.name", "gen_ai.provider.name"}
    findings.same(f"{name}: {span.name}: what is required", required - found.keys(), set())
    findings.same(f"{name}: {span.name}: error", found.get("error.type"), of_span.get("error.type"))


def check_run(content: bool, findings: Findings) -> None:
    done, printed, arrived = run(**({CAPTURE: "true"} if content else {}))
    findings.same("the exit status", (done.returncode, done.stderr.decode()), (0, ""))
    spans = check_tree(printed, arrived, findings)
    check_spans(spans, content, findings)
    check_sender(arrived, findings)
    check_metrics(spans, arrived, findings)
    findings.same("requests with the secret", sum(CANARY in body for body in arrived.bodies), 0)
    findings.same("requests with content", any(b"kettle" in body for body in arrived.bodies), content)


def check_parents(findings: Findings) -> None:
    """Runs a process with a trace context in headers. It accepts what W3C allows."""
    header = f"00-{TRACE}-{PARENT}-01"
    for headers, trace, state in [
        ({"TRACEPARENT": header, "TRACESTATE": "a=1,b=2"}, TRACE, "a=1,b=2"),
        ({"TRACEPARENT": header, "TRACESTATE": "a=1,a=2"}, TRACE, ""),
        ({"TRACEPARENT": f"cc-{TRACE}-{PARENT}-01-more"}, TRACE, ""),
        ({"TRACEPARENT": header.upper()}, None, ""),
        ({"TRACEPARENT": f"ff-{TRACE}-{PARENT}-01"}, None, ""),
        ({"TRACEPARENT": header[:-2] + "00"}, "none is sent", ""),
    ]:
        _, _, arrived = run(arguments=("stock",), **headers)
        spans = [span for span, _, _ in arrived.spans()]
        if trace == "none is sent":
            findings.same(f"{headers}: spans", len(spans), 0)
            continue
        findings.same(f"{headers}: spans", len(spans), 1)
        for span in spans:
            # Where the parent is not believed, a trace of its own begins.
            findings.same(f"{headers}: its trace", span.trace_id.hex() == TRACE, trace is not None)
            findings.same(f"{headers}: its parent", span.parent_span_id.hex(), PARENT if trace else "")
            findings.same(f"{headers}: state", span.trace_state, state)


def check_refusal(findings: Findings) -> None:
    """Where nothing is taken, the work is done all the same, and the end says that something is missing."""
    done, printed, _ = run(status=400)
    findings.same("what is done while nothing is taken", sorted(printed), sorted(SPANS))
    findings.same("what is said of it", (done.returncode, "OTLP endpoint" in done.stderr.decode()), (1, True))


def main() -> int:
    findings = Findings()
    for content in (False, True):
        check_run(content, findings)
    check_parents(findings)
    check_refusal(findings)
    print(*findings.wrong, sep="\n", end="\n" if findings.wrong else "")
    print(f"otel: {findings.looked} comparisons, {len(findings.wrong)} differences")
    return 1 if findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
